"""Law 13 as it is written, for any set of files that people edit: taken back, set by set.

The same pass (same state, same moment) is computed with every subset of what was edited. Named must
be all that belongs to a smallest subset which decides the same, and no more.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from typing import cast

from reconciler.core.rebalances import Holds
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import run_round
from reconciler.manifests.paths import output_path
from reconciler.model.decision import CauseKind, Decision, Placed
from reconciler.model.settings import settings_in
from tests.builders import Body, text
from tests.stories import Story, applied

Undo = Callable[[dict[str, str]], None]
"""Takes something out of files that was no edit of this step, such as a demand that waits."""
Result = tuple[Placed, Placed, bool] | bool
"""Where an object was, where it is, whether it complains; or whether it is removed."""
At = tuple[str, str]
"""A field of a section of a manifest, of the manifest itself where that is `""`."""
HAND = "hand"
"""The part of who edits a decision itself."""


@dataclass(frozen=True)
class Rules:
    """Who edits what.

    Attributes:
        whose: Returns whose edit the edit of a file is, `""` for an output.
        named: Returns for which parts the causes of a decision stand, but for the first placement.
        pending: Returns what else may be taken back of an object, by its part.
        fields: Whose files are edited field by field: the part to the field.
        decided: Returns the start of the paths of the files that hold a decision.
    """

    whose: Callable[[str], str]
    named: Callable[[Decision, "Edits"], frozenset[str]]
    pending: Callable[[Story, Decision], Mapping[str, Undo]]
    fields: Mapping[str, Mapping[str, At]]
    decided: Callable[[Decision], str]


@dataclass(frozen=True)
class Edits:
    """The files after the last pass that committed, and as they are now."""

    before: Mapping[str, str]
    now: Mapping[str, str]
    rules: Rules

    def paths(self) -> Iterator[str]:
        """Yield what differs."""
        for path in sorted(self.before.keys() | self.now.keys()):
            if self.before.get(path) != self.now.get(path):
                yield path

    def parts(self, decision: Decision) -> frozenset[str]:
        """What differs, by whose it is; field by field where a file was edited."""
        found = frozenset(part for path in self.paths() for part in self.parts_of(path))
        return found | {HAND for _ in self.by_hand(decision)}

    def parts_of(self, path: str) -> Iterator[str]:
        """Yield what differs in an input."""
        whose = self.rules.whose(path)
        fields = self.fields(path)
        if not fields:
            yield from [whose] if whose else []
        for part, at in fields.items():
            if field_of(self.before[path], at) != field_of(self.now[path], at):
                yield part

    def fields(self, path: str) -> Mapping[str, At]:
        """Return the fields of a file that was edited, none for one that came or went."""
        edited = path in self.before and path in self.now
        return self.rules.fields.get(self.rules.whose(path), {}) if edited else {}

    def by_hand(self, decision: Decision) -> Iterator[str]:
        """Yield the files of a decision that people edited; of one that goes they do not matter."""
        start = self.rules.decided(decision)
        if not decision.removed:
            yield from (path for path in self.paths() if path.startswith(start))

    def without(self, undone: AbstractSet[str], decision: Decision) -> dict[str, str]:
        """Return the files without some parts."""
        files = dict(self.now)
        for path in self.paths():
            for part in sorted(undone & set(self.parts_of(path))):
                self._take_back(files, path, part)
        for path in self.by_hand(decision) if HAND in undone else ():
            self._take_back(files, path, HAND)
        return files

    def _take_back(self, files: dict[str, str], path: str, part: str) -> None:
        """Put a part of a file back as it was."""
        fields = self.fields(path)
        if part in fields:
            at = fields[part]
            files[path] = with_field(files[path], at, field_of(self.before[path], at))
        elif path in self.before:
            files[path] = self.before[path]
        else:
            del files[path]


def field_of(data: str, at: At) -> object:
    """A field of a manifest that the builders wrote, `None` if it is not there."""
    return section_of(json.loads(data), at).get(at[1])


def with_field(data: str, at: At, value: object) -> str:
    """Return a manifest with another value of a field, `None` for none."""
    body = cast(Body, json.loads(data))
    section = {name: kept for name, kept in section_of(body, at).items() if name != at[1]}
    section |= {} if value is None else {at[1]: value}
    return text({**body, at[0]: section} if at[0] else section)


def section_of(body: Body, at: At) -> Body:
    """The section that a field is in."""
    return cast(Body, body.get(at[0], {})) if at[0] else body


@dataclass
class Seen:
    """What came up: each cause alone, and together with others."""

    alone: Counter[CauseKind] = field(default_factory=Counter)
    together: Counter[CauseKind] = field(default_factory=Counter)

    def count(self, decision: Decision) -> None:
        """Count the causes of a decision."""
        kinds = decision.cause.kinds
        (self.alone if len(kinds) == 1 else self.together).update(kinds)

    def total(self, kind: CauseKind) -> int:
        """How often a cause came up."""
        return self.alone[kind] + self.together[kind]


BROUGHT = frozenset(
    {
        "workload",
        "policy",
        "placement",
        "replicas",
        "requests",
        "suspension",
        "suspension of a policy",
    }
)
"""What may bring an object."""
CREATION = "creation"
"""The part of all that brought an object together: a first placement stands for it as it is."""


def result_of(told: Story, like: Decision) -> Result:
    """What a pass does to an object; of one that stays where it was only if that is news."""
    found = next(
        (d for d in reconcile(told.world(), told.now).decisions if d.key == like.key), None
    )
    if like.removed or found is None or found.removed:
        return found is not None and found.removed
    return found.before, found.after, found.before == found.after and bool(found.problem)


def smallest_enough(
    told: Story, decision: Decision, edits: Edits
) -> tuple[frozenset[str], frozenset[str]]:
    """All that could be taken back, and all that belongs to a smallest set that is enough."""
    pending = edits.rules.pending(told, decision)
    edited = edits.parts(decision) | pending.keys()
    brought = edited & BROUGHT if decision.cause.kind is CauseKind.CREATED else frozenset()
    parts = edited - brought | ({CREATION} if brought else set())
    wanted = result_of(told, decision)

    def suffices(chosen: frozenset[str]) -> bool:
        undone = parts - chosen
        files = edits.without(undone | brought if CREATION in undone else undone, decision)
        for name in sorted(undone & pending.keys()):
            pending[name](files)
        there = Story(files=files, trees=dict(told.trees), now=told.now)
        return wanted == result_of(there, decision)

    enough: list[frozenset[str]] = []
    for chosen in subsets(parts):
        if not any(known <= chosen for known in enough) and suffices(chosen):
            enough.append(chosen)
    needed = frozenset[str]().union(*enough)
    return parts, needed if suffices(needed) else parts


def subsets(parts: AbstractSet[str]) -> Iterator[frozenset[str]]:
    """Every subset, the smallest first."""
    for size in range(len(parts) + 1):
        yield from map(frozenset, combinations(sorted(parts), size))


def assert_caused(told: Story, before: Mapping[str, str], decision: Decision, rules: Rules) -> None:
    """Hold the causes of a decision against what the same pass decides without some edits.

    Whoever asks for a rebalance is named though something else would do the same.
    """
    edits = Edits(before, told.files, rules)
    parts, needed = smallest_enough(told, decision, edits)
    created = {CREATION} if decision.cause.kind is CauseKind.CREATED else set()
    named = (rules.named(decision, edits) | created) & parts
    asked = frozenset({"rebalancer", "trigger"})
    over, under = named - needed - asked, needed - named
    assert not over | under or is_of_rounds(told, decision, edits, over, under), (
        str(decision.cause),
        decision.before,
        decision.after,
        sorted(parts),
        sorted(needed),
    )


def is_of_rounds(
    told: Story, decision: Decision, edits: Edits, over: AbstractSet[str], under: AbstractSet[str]
) -> bool:
    """Whether all that is amiss is that what differs is taken back within a round.

    The first of several rounds names what it took, though a later one moves on; and what has a
    pass of one round come to the same may be needed, since the pass without it takes several.

    Args:
        told: The repository.
        decision: What the pass decided.
        edits: What differs.
        over: What is named and was not needed.
        under: What was needed and is not named.
    """
    files = edits.without(under, decision)
    there = Story(files=files, trees=dict(told.trees), now=told.now)
    return (not over or takes_rounds(told, decision)) and (
        not under or takes_rounds(there, decision)
    )


def takes_rounds(told: Story, like: Decision) -> bool:
    """Whether the first round of a pass leaves an object where a later one moves it on."""
    world = told.world()
    first = run_round(
        world,
        settings=settings_in(world),
        now=told.now,
        memories=Memo().dialects,
        asked=frozenset(),
        holds=Holds(),
    )
    whole = reconcile(world, told.now)
    left, ended = (
        next((one.after for one in found if one.key == like.key), None)
        for found in (first.results.decisions, whole.decisions)
    )
    return left != ended


def is_new_complaint(told: Story, decision: Decision) -> bool:
    """Whether an object cannot be placed that did not say so before, with whatever numbers."""
    path = output_path("status", decision.key)
    return bool(decision.problem) and "False" not in told.files.get(path, "")


def hold(
    told: Story, before: Mapping[str, str], rules: Rules, seen: Callable[[Decision], Seen]
) -> Mapping[str, str]:
    """Run a pass, hold what it moved to the law, and return the files of the last that committed.

    Args:
        told: The repository; it gets the changes of the pass.
        before: Its files after the last pass that committed.
        rules: Who edits what.
        seen: Returns what counts the causes of a decision.
    """
    outcome = reconcile(told.world(), told.now)
    for decision in outcome.decisions:
        if decision.before != decision.after or is_new_complaint(told, decision):
            seen(decision).count(decision)
            assert_caused(told, before, decision, rules)
    told.files = applied(told.files, outcome)
    return dict(told.files) if outcome.files else before
