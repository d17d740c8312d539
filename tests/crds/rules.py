"""Which function of ours answers each CEL rule of upstream's CRDs, or why none does."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from reconciler.dialects.ocm.cel.evaluator import evaluate
from reconciler.dialects.ocm.cel.library import STANDARD
from reconciler.dialects.ocm.cel.syntax import Node, parse
from reconciler.dialects.ocm.cel.values import CelError, Meter, to_cel
from reconciler.errors import Misconfigured
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from tests.crds.facts import KindVersion
from tests.crds.reader import Rule
from tests.shell.fleet import ROOT


class Reason(NamedTuple):
    """Differences that are meant; `*` in the first two stands for any text.

    Attributes:
        kinds: As in `policy.karmada.io/v1alpha1 PropagationPolicy`.
        field: As in `spec.taints[].key`.
        ours: The fact as it is shown, `-` for none.
        theirs: Likewise. Both are told to the letter, so a reason never covers a later change.
        reason: One sentence.
    """

    kinds: str
    field: str
    ours: str
    theirs: str
    reason: str

    def covers(self, kind: str, field: str, ours: str, theirs: str) -> bool:
        """Return whether it is the reason of a difference."""
        same = (self.ours, self.theirs) == (ours, theirs)
        return same and fits(self.kinds, kind) and fits(self.field, field)


def fits(pattern: str, text: str) -> bool:
    """Return whether a text is of a pattern, in which `*` stands for any text.

    >>> fits("spec.*[].key", "spec.taints[].key"), fits("spec", "spec.taints")
    (True, False)
    """
    return _compiled(pattern).fullmatch(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))))


def read_reasons() -> tuple[Reason, ...]:
    """Return all reasons, in the order of the file."""
    rows = json.loads((ROOT / "fixtures/crds/reasons.json").read_text(encoding="utf-8"))
    return tuple(Reason(**row) for row in rows)


Refuses = Callable[[Body, Body], bool]
"""Whether a function of ours refuses an object: as it was, `{}` if it is new, and as it is."""


class Answer(NamedTuple):
    """Rules that one function of ours answers together.

    Attributes:
        kinds: As in `cluster.kubernetes-fleet.io/v1 MemberCluster`; `*` stands for any text.
        field: Where the rules stand, `""` for the object.
        expressions: All hold where the function refuses nothing.
        by: The function, as `package.module.name` below `reconciler.dialects`, or of these tests
            where nothing that a pass reads asks it.
        refuses: Calls it.
        spares: Whether we let through on purpose what upstream refuses.
        reason: Why; `""` if nothing is spared.
    """

    kinds: str
    field: str
    expressions: tuple[str, ...]
    by: str
    refuses: Refuses
    spares: Refuses = lambda _before, _after: False
    reason: str = ""

    def covers(self, kind: KindVersion, rule: Rule) -> bool:
        """Return whether it answers a rule of a kind."""
        same = rule.field == self.field and rule.expression in self.expressions
        return same and fits(self.kinds, str(kind))


class Unanswered(NamedTuple):
    """Rules that no function of ours answers; `*` stands for any text."""

    kinds: str
    field: str
    reason: str

    def covers(self, kind: KindVersion, rule: Rule) -> bool:
        """Return whether it is the reason of a rule of a kind."""
        return fits(self.kinds, str(kind)) and fits(self.field, rule.field)


FLEET = "placement.kubernetes-fleet.io/*"
NOT_READ = "We do not read this kind: it controls nothing, and is warned of."
UNANSWERED: Sequence[Unanswered] = (
    Unanswered("placement.kubefleet.dev/* *", "*", NOT_READ),
    Unanswered(f"{FLEET} *ResourceOverrideSnapshot", "*", NOT_READ),
    Unanswered(
        f"{FLEET} *StagedUpdateRun",
        "status.*",
        "Only passes write the status of a run; what a person writes there means nothing.",
    ),
    Unanswered("addon.open-cluster-management.io/* *", "*", NOT_READ),
    Unanswered(
        f"{FLEET} *SchedulingPolicySnapshot",
        "spec.policy.tolerations",
        "Only passes write this kind, from a policy that was held against the same rule.",
    ),
)


def finds(check: Callable[[Body], Iterable[Violation]], *names: str) -> Refuses:
    """Return whether a function finds a violation of one of these rules of ours."""
    return lambda _before, after: any(one.rule in names for one in check(after))


def misconfigures(check: Callable[[Body, Body], None], *path: str) -> Refuses:
    """Return whether a function refuses an edit of one field.

    The other fields stay, since the function names the first that is in the wrong.
    """

    def refuses(before: Body, after: Body) -> bool:
        if not before:
            return False
        try:
            check(before, _edited(before, after, path))
        except Misconfigured as error:
            return error.field == f"/{'/'.join(path)}"
        return False

    return refuses


def _edited(before: Body, after: Body, path: Sequence[str]) -> Body:
    """Return an object as it was, but for one field; what that is in may have gone altogether."""
    name, *rest = path
    if rest and name in after:
        return {**before, name: _edited(mapping(before, name), mapping(after, name), rest)}
    others = {key: one for key, one in before.items() if key != name}
    return {**others, name: after[name]} if name in after else others


STEPS = 1_000_000
PART = re.compile(r"[^.\[\]{}]+|\[\]|\{\}")


def holds(rule: Rule, before: Body, after: Body) -> bool:
    """Return whether an object satisfies a rule, wherever the rule stands in it.

    Args:
        rule: One that looks at `oldSelf` is asked only where its field was there before.
        before: The object as it was, `{}` if it is new.
        after: The object as it is, defaults applied.
    """
    transition = "oldSelf" in rule.expression
    known = dict(nodes_at(rule.field, before)) if before else {}
    return all(
        _is_true(rule.expression, node, known.get(place))
        for place, node in nodes_at(rule.field, after)
        if not transition or place in known
    )


def nodes_at(field: str, body: object) -> Iterator[tuple[tuple[object, ...], object]]:
    """Yield each value of a field, with its place.

    >>> [*nodes_at("a[].b", {"a": [{"b": 1}, {}]})]
    [(('a', 0, 'b'), 1)]
    """
    return _nodes(tuple(PART.findall(field)), body, ())


def _nodes(
    parts: tuple[str, ...], node: object, place: tuple[object, ...]
) -> Iterator[tuple[tuple[object, ...], object]]:
    if not parts:
        yield place, node
        return
    first, rest = parts[0], parts[1:]
    if first == "[]" and isinstance(node, list):
        for position, item in enumerate(node):
            yield from _nodes(rest, item, (*place, position))
    elif isinstance(node, Mapping):
        for name in sorted(node) if first == "{}" else [first]:
            if name in node:
                yield from _nodes(rest, node[name], (*place, name))


@cache
def _parsed(expression: str) -> Node:
    return parse(expression)


def _is_true(expression: str, node: object, before: object) -> bool:
    """Return whether an expression is true; what cannot be evaluated is refused."""
    variables = {"self": to_cel(node)}
    if "oldSelf" in expression:
        variables["oldSelf"] = to_cel(before)
    try:
        return evaluate(_parsed(expression), STANDARD, variables, Meter(STEPS)) is True
    except CelError:
        return False
