"""The front door: a vector as a repository in memory, one pass over it, and what stands there then.

Nothing of the product is called here but what the daemon itself calls: files are validated, a World
is composed of them, `reconcile` runs, and its changes are put into the files.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from reconciler.core.changes import Outcome
from reconciler.core.reconcile import reconcile
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ObjectKey
from tests.builders import Body, manifest
from tests.conformance.judgements import first_difference, forgives
from tests.stories import Story, applied


class LeftOut(Exception):  # not an error: a vector that no repository can say
    """The vector cannot be written as a repository; exceptions.json has the reason by this name."""


class Refused(LeftOut):
    """An input of the vector would be refused; the argument is the rule."""


@dataclass(frozen=True)
class Passed:
    """What a pass left behind: its outcome, what people wrote, and each output by its key."""

    outcome: Outcome
    inputs: Container[ObjectKey]
    outputs: Mapping[ObjectKey, Body]
    now: datetime

    @property
    def seconds(self) -> int | None:
        """How long until the next look, `None` if none is known to be needed."""
        until = self.outcome.recheck_at
        return None if until is None else int((until - self.now).total_seconds())

    def of_kind(self, kind: str, namespace: str = "") -> dict[str, Body]:
        """The outputs of one kind and namespace, by name."""
        found = {key.name: body for key, body in self.outputs.items() if _is(key, kind, namespace)}
        return dict(sorted(found.items()))

    def faults(self, rule: str) -> bool:
        """Whether the pass reports a fault of a rule."""
        return any(fault.rule == rule for fault in self.outcome.faults)


def _is(key: ObjectKey, kind: str, namespace: str) -> bool:
    return (key.kind, key.namespace) == (kind, namespace)


def walk_in(
    inputs: Iterable[Body],
    outputs: Iterable[Body],
    now: datetime,
    *,
    reports: Mapping[str, Body] | None = None,
) -> Passed:
    """Run one pass over a repository with these inputs, and these outputs of an earlier pass.

    Args:
        inputs: What people wrote.
        outputs: What an earlier pass wrote.
        now: Moment of the pass.
        reports: What clusters report, by the name of the cluster.

    Raises:
        Refused: An input would be refused, or an output cannot be read.
    """
    repository = Story().put(*inputs)
    for name, body in (reports or {}).items():
        repository.put(body, path=f"feedback/{name}/report.yaml")
    for body in outputs:
        repository.files[output_path("status", manifest(body).key)] = encode(body)
    world = repository.world()
    if world.faults:
        raise Refused(world.faults[0].rule)
    outcome = reconcile(world, now)
    if outcome.traces:
        raise AssertionError(outcome.traces[0])
    after = Story(applied(repository.files, outcome)).world()
    left = {key: item.body for key, item in after.outputs.items()}
    return Passed(outcome, after.inputs.keys(), left, now)


def fields_refused(inputs: Iterable[Body]) -> list[str]:
    """Return the field of each fault that a repository with these inputs has before any pass."""
    return [fault.field for fault in Story().put(*inputs).world().faults]


def not_later(family: str, expected: int | None, actual: int | None) -> str | None:
    """Return how the next look is too late; exceptions.json says where it may come earlier."""
    if forgives(family, "earlier looks"):
        if expected is None or (actual is not None and actual <= expected):
            return None
        return f".wait: expected at most {expected}, got {actual}"
    return first_difference(expected, actual, ".wait")


def field(body: Body, *names: str) -> Body:
    """Return a mapping at a path, empty if it is not there."""
    for name in names:
        body = cast(Body, body.get(name) or {})
    return body


def items(body: Body, *names: str) -> Sequence[Body]:
    """Return a list at a path, empty if it is not there."""
    return cast(Sequence[Body], field(body, *names[:-1]).get(names[-1]) or [])


def configuration(**spec: object) -> Body:
    """The configuration of a repository that holds a vector: nothing happens by itself."""
    return {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": {"name": "main"},
        "spec": {"feedback": {"assumeAfterSeconds": None}, **spec},
    }
