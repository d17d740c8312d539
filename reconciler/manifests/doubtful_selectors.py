"""Selectors and tolerations that an API server takes, and that select or tolerate nothing."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.manifests.label_index import LabelIndex
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping_or_none, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import LabelSelector, Requirement, labels_of
from reconciler.model.message_text import shown
from reconciler.model.selectors import OPERATORS, decode_label_selector, refusal_of
from reconciler.model.taints import TaintEffect

EQUAL, EXISTS = "Equal", "Exists"


LabelsOf = Callable[[Body], Mapping[str, str]]
"""Returns the labels of a manifest as a hub has them."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What selectors may select: objects of one kind, by their labels.

    Attributes:
        kind: As messages name it.
        index: The objects.
        values: Key to the values that it has.
    """

    kind: str
    index: LabelIndex[Mapping[str, str]]
    values: Mapping[str, Collection[str]]

    @classmethod
    def of(cls, kind: str, labels: Iterable[Mapping[str, str]]) -> "Labelled":
        """Return objects of one kind by their labels."""
        listed = tuple(labels)
        values: dict[str, set[str]] = defaultdict(set)
        for one in listed:
            for key, value in one.items():
                values[key].add(value)
        return cls(kind, LabelIndex((one, one) for one in listed), values)

    @classmethod
    def known(
        cls, known: Known, group: str, kind: str, labels: LabelsOf = labels_of
    ) -> "Labelled | None":
        """Return the objects of a kind; `None` where there are none, or not all can be read."""
        if (group, kind) in known.unclear:
            return None
        found = [labels(one.body) for one in known.of_kind(group, kind)]
        return cls.of(kind, found) if found else None

    def has(self, selector: LabelSelector) -> bool:
        """Return whether a selector selects anything."""
        return any(True for _ in self.index.selected(selector))


def doubts_of_selector(
    key: ObjectKey, selector: Body | None, at: str, among: Labelled | None, rule: str
) -> Iterator[Dangling]:
    """Yield why a label selector selects nothing.

    Args:
        key: Whose it is.
        selector: As written; `None` selects everything.
        at: JSON pointer to it.
        among: What it selects from, `None` if that is not known.
        rule: Of a selector that could select, and finds nothing.
    """
    if selector is None:
        return
    found = decode_label_selector(selector)
    refused = [*_refused(key, selector, at)]
    yield from refused
    if refused or among is None or among.has(found):
        return
    for pointer, requirement in _placed(found, at):
        if not among.has(LabelSelector(match_expressions=(requirement,))):
            message, expected = _missing(requirement, among)
            yield Dangling(key, pointer, rule, message, expected)
            return
    message = f"no {among.kind} has all the labels that are asked for"
    yield Dangling(key, at, rule, message, "labels that one of them has together")


def doubts_of_tolerations(
    key: ObjectKey, tolerations: Sequence[Body], at: str, effects: Sequence[TaintEffect]
) -> Iterator[Dangling]:
    """Yield the tolerations that tolerate nothing.

    Args:
        key: Whose they are.
        tolerations: As written.
        at: JSON pointer to their list.
        effects: Those that taints of this API may have.
    """
    for position, one in enumerate(tolerations):
        operator, effect = text(one, "operator"), text(one, "effect")
        if operator not in ("", EQUAL, EXISTS):
            message = f"{shown(operator)} is no operator of tolerations, so nothing is tolerated"
            expected, field = proposal(operator, (EQUAL, EXISTS), "operator"), "operator"
        elif effect and effect not in effects:
            message = f"{shown(effect)} is no effect of a taint, so nothing is tolerated"
            expected, field = proposal(effect, [str(one) for one in effects], "effect"), "effect"
        elif operator == EXISTS and text(one, "value"):
            message = f"{EXISTS} asks for the key alone, whatever the value"
            expected, field = f"no value, or {EQUAL}", "value"
        else:
            continue
        yield Dangling(key, f"{at}/{position}/{field}", "toleration-unusable", message, expected)


def _refused(key: ObjectKey, selector: Body, at: str) -> Iterator[Dangling]:
    """Yield the expressions that cannot be judged; a selector with one selects nothing."""
    found = decode_label_selector(selector).match_expressions or ()
    written = bodies(selector, "matchExpressions")
    for position, requirement in enumerate(found):
        refusal = refusal_of(LabelSelector(match_expressions=(requirement,)))
        if not refusal:
            continue
        place, expected = f"{at}/matchExpressions/{position}", "a label's key, and values of labels"
        message = f"the selector selects nothing: {refusal}"
        if requirement.operator not in OPERATORS:
            expected = proposal(requirement.operator, OPERATORS, "operator")
            place = f"{place}/operator" if "operator" in written[position] else place
        elif requirement.operator in ("In", "NotIn") and not requirement.values:
            message = f"{requirement.operator} has no values, so the selector selects nothing"
            expected = "values, or the operator Exists"
        yield Dangling(key, place, "selector-unusable", message, expected)


def _placed(selector: LabelSelector, at: str) -> Iterator[tuple[str, Requirement]]:
    """Yield what a selector asks for, each with its JSON pointer."""
    for key, value in selector.match_labels or ():
        escaped = key.replace("~", "~0").replace("/", "~1")
        yield f"{at}/matchLabels/{escaped}", Requirement(key, "In", (value,))
    for position, requirement in enumerate(selector.match_expressions or ()):
        yield f"{at}/matchExpressions/{position}", requirement


def _missing(requirement: Requirement, among: Labelled) -> tuple[str, str]:
    """Return that nothing satisfies a requirement, and what does."""
    key, wanted = requirement.key, requirement.values or ()
    values = sorted(among.values.get(key, ()))
    if not values:
        keys = sorted(among.values)
        message = f"no {among.kind} has the label {key}"
        return message, proposal(key, keys, "label") if keys else f"a {among.kind} with a label"
    if requirement.operator != "In":
        message = f"every {among.kind} is ruled out by {key} {requirement.operator}"
        return message, f"{key} is {', '.join(map(shown, values[:8]))}"
    listed = " or ".join(f"{key}={value}" for value in wanted[:8])
    return f"no {among.kind} has the label {listed}", proposal(wanted[0], values, f"value of {key}")


def selector_at(parent: Body, at: str) -> tuple[Body | None, str]:
    """Return the label selector of something, and its JSON pointer."""
    return mapping_or_none(parent, "labelSelector"), f"{at}/labelSelector"
