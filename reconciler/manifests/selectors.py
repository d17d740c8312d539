"""Label selectors: as people write them, as indexes of labels, and where they select nothing.

People write `-l app=shop,tier in (web, db),!canary`. A selector that asks for a label is compared
only with what has that label, so a question costs what it finds, not what there is. Only `matches`
says what a selector selects; it is asked last. An API server takes selectors and tolerations that
select or tolerate nothing; these are doubts.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from reconciler.errors import UsageError
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.body import Body
from reconciler.model.cluster import TaintEffect
from reconciler.model.fields import bodies, mapping_or_none, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import (
    COMPARING,
    ONE_OF,
    OPERATORS,
    LabelSelector,
    Requirement,
    decode_label_selector,
    is_wellformed,
    labels_of,
    matches,
    refusal_of,
)
from reconciler.model.records import dataclass
from reconciler.model.text import shown

_PART = re.compile(r"\s*((?:[^,()]|\([^()]*\))+?)\s*(?:,|$)")
_SET = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(r"([^\s=!]+)\s*(==|=|!=)\s*(\S*)")
_EXISTS = re.compile(r"(!?)\s*([^\s=!]+)")
EXAMPLE = "app=shop,tier!=db, tier in (web,cache), tier notin (db), app, or !app"


def parse_selector(text: str) -> LabelSelector:
    """Return the label selector that kubectl reads in a text.

    Source: apimachinery pkg/labels/selector.go `Parse`.

    Raises:
        UsageError: It is none.
    """
    parts, end = [], 0
    while end < len(text):
        match = _PART.match(text, end)
        if match is None:
            raise _refusal(text)
        parts.append(_requirement(match[1], text))
        end = match.end()
    if not parts or text.rstrip().endswith(","):
        raise _refusal(text)
    return LabelSelector(match_expressions=tuple(parts))


def _requirement(part: str, text: str) -> Requirement:
    """Return what one part of a selector asks for."""
    if match := _SET.fullmatch(part):
        operator = "In" if match[2] == "in" else "NotIn"
        values = tuple(value.strip() for value in match[3].split(","))
        requirement = Requirement(match[1], operator, values)
    elif match := _EQUAL.fullmatch(part):
        requirement = Requirement(match[1], "NotIn" if match[2] == "!=" else "In", (match[3],))
    elif match := _EXISTS.fullmatch(part):
        requirement = Requirement(match[2], "DoesNotExist" if match[1] else "Exists")
    else:
        raise _refusal(text)
    if not is_wellformed(requirement):
        raise _refusal(text)
    return requirement


def _refusal(text: str) -> UsageError:
    return UsageError(f"-l {shown(text)} must be a label selector such as {EXAMPLE}")


T = TypeVar("T")

Label = tuple[str, str | None]
"""Key and value of a label; `None` stands for any value."""


def ways_of(selector: LabelSelector) -> Sequence[tuple[Label, ...]]:
    """Return each set of labels of which one is on all that a selector selects; it may be none.

    A selector that cannot be judged selects nothing, so its only set is an empty one.
    """
    requirements = selector.requirements
    if not all(map(is_wellformed, requirements)):
        return ((),)
    asked = map(_labels_asked, requirements)
    return tuple(labels for labels in asked if labels is not None)


def _labels_asked(requirement: Requirement) -> tuple[Label, ...] | None:
    """Return labels of which one is on all that satisfies a requirement, `None` if none need be."""
    if requirement.operator in ONE_OF:
        return tuple((requirement.key, value) for value in dict.fromkeys(requirement.values or ()))
    if requirement.operator == "Exists" or requirement.operator in COMPARING:
        return ((requirement.key, None),)
    return None


def labels_on(labels: Mapping[str, str]) -> Iterator[Label]:
    """Yield what an object with these labels is filed under."""
    for key, value in labels.items():
        yield key, value
        yield key, None


class LabelIndex(Generic[T]):
    """Objects by their labels, to find those that a selector selects."""

    def __init__(self, objects: Iterable[tuple[Mapping[str, str], T]]) -> None:
        self._objects = tuple(objects)
        self._by_label: dict[Label, list[int]] = defaultdict(list)
        for position, (labels, _) in enumerate(self._objects):
            for label in labels_on(labels):
                self._by_label[label].append(position)

    def selected(self, selector: LabelSelector | None) -> Iterator[T]:
        """Yield the objects that a selector selects, in the order given; all for `None`."""
        if selector is None:
            yield from (key for _, key in self._objects)
            return
        for position in self._candidates(selector):
            labels, key = self._objects[position]
            if matches(selector, labels):
                yield key

    def _candidates(self, selector: LabelSelector) -> Iterable[int]:
        """Return the positions of all that a selector may select, ascending."""
        filed = [
            [self._by_label.get(label, ()) for label in labels] for labels in ways_of(selector)
        ]
        if not filed:
            return range(len(self._objects))
        fewest = min(filed, key=lambda positions: sum(map(len, positions)))
        return fewest[0] if len(fewest) == 1 else sorted(p for part in fewest for p in part)


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
        for labelled in listed:
            for key, value in labelled.items():
                values[key].add(value)
        return cls(kind, LabelIndex((labelled, labelled) for labelled in listed), values)

    @classmethod
    def known(
        cls, known: Known, group: str, kind: str, labels: LabelsOf = labels_of
    ) -> "Labelled | None":
        """Return the objects of a kind; `None` where there are none, or not all can be read."""
        if (group, kind) in known.unclear:
            return None
        objects = [labels(manifest.body) for manifest in known.of_kind(group, kind)]
        return cls.of(kind, objects) if objects else None

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
    decoded = decode_label_selector(selector)
    refused = [*_refused(key, selector, at)]
    yield from refused
    if refused or among is None or among.has(decoded):
        return
    for pointer, requirement in _placed(decoded, at):
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
    for position, toleration in enumerate(tolerations):
        operator, effect = text(toleration, "operator"), text(toleration, "effect")
        if operator not in ("", EQUAL, EXISTS):
            message = f"{shown(operator)} is no operator of tolerations, so nothing is tolerated"
            expected, field = proposal(operator, (EQUAL, EXISTS), "operator"), "operator"
        elif effect and effect not in effects:
            message = f"{shown(effect)} is no effect of a taint, so nothing is tolerated"
            expected, field = proposal(effect, [*map(str, effects)], "effect"), "effect"
        elif operator == EXISTS and text(toleration, "value"):
            message = f"{EXISTS} asks for the key alone, whatever the value"
            expected, field = f"no value, or {EQUAL}", "value"
        else:
            continue
        yield Dangling(key, f"{at}/{position}/{field}", "toleration-unusable", message, expected)


def _refused(key: ObjectKey, selector: Body, at: str) -> Iterator[Dangling]:
    """Yield the expressions that cannot be judged; a selector with one selects nothing."""
    requirements = decode_label_selector(selector).match_expressions or ()
    written = bodies(selector, "matchExpressions")
    for position, requirement in enumerate(requirements):
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
