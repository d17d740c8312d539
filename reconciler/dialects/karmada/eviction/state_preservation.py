"""State preservation: what a workload's status says where it fails goes with it, as labels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reconciler.dialects.karmada.api.work.failover_behavior import StateRule
from reconciler.errors import UserError
from reconciler.manifests.json_template import fill_template, parse_template
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.model.labels import is_label_value
from reconciler.model.message_text import shown

StatusOf = Callable[[ClusterName], Body | None]
"""Returns the status of the workload in a cluster, `None` if none was ever reported."""


@dataclass(frozen=True, slots=True)
class StatePreservation:
    """What is preserved of a workload that leaves a cluster: by rules, of what it says there."""

    rules: tuple[StateRule, ...]
    status_of: StatusOf

    def labels(self, cluster: ClusterName) -> Mapping[str, str]:
        """Return the labels that the workload takes along; none without rules.

        Raises:
            UserError: Its status there is not known, or a rule finds nothing in it that a label
                can hold. The workload has to stay, as its state would be lost.

        Source: karmada@f8fdd02 pkg/util/helper/failover.go `BuildPreservedLabelState`, and
        pkg/controllers/applicationfailover/common.go `buildTaskOptions`.
        """
        if not self.rules:
            return {}
        status = self.status_of(cluster)
        if not status:
            raise UserError(f"{cluster} has not reported its status yet")
        return {rule.alias_label_name: _value(rule, status, cluster) for rule in self.rules}


def unreadable_path(path: str) -> str:
    """Return why nothing can be read by the `jsonPath` of a rule, `""` if something can."""
    try:
        _text(path, None)
    except ValueError as error:
        return str(error)
    except LookupError:
        pass
    return ""


def _value(rule: StateRule, status: Body, cluster: ClusterName) -> str:
    """Return the value of the label of a rule."""
    where = f"`jsonPath` {shown(rule.json_path)}, in the status that {cluster} reports"
    try:
        value = _text(rule.json_path, status)
    except (ValueError, LookupError) as error:
        raise UserError(f"{where}: {error}") from None
    # Unlike upstream: there a member cluster refuses the whole manifest, and nothing runs.
    if not is_label_value(value):
        raise UserError(f"{where}: no label can have the value {shown(value)}")
    return value


def _text(path: str, status: Body | None) -> str:
    """Return the text of a template; one without braces stands for itself, as upstream.

    Unlike upstream: an integer is written out in full, whatever its size. `..`, slices and filters
    other than by `==` and `!=` are not read.
    """
    if "{" not in path:
        return path
    return fill_template(parse_template(path), status, required=True)
