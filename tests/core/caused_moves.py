"""Law 13 as it is written, for any set of files that people edit: taken back, set by set.

The same pass (same state, same moment) is computed with every subset of what was edited. Named must
be all that belongs to a smallest subset which decides the same, and no more.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations

from reconciler.core.reconcile import reconcile
from reconciler.manifests.paths import output_path
from reconciler.model.decision import CauseKind, Decision, Placed
from tests.stories import Story, applied

Undo = Callable[[dict[str, str]], None]
"""Takes something out of files that was no edit of this step, such as a demand that waits."""
Result = tuple[Placed, bool, bool]


@dataclass(frozen=True)
class Rules:
    """Who edits what.

    Attributes:
        whose: Returns whose edit the edit of a file is, `""` for an output.
        named: Returns whose edits the causes of a decision stand for.
        pending: Returns what else may be taken back of an object, by whose it is.
    """

    whose: Callable[[str], str]
    named: Callable[[Decision], frozenset[str]]
    pending: Callable[[Story, Decision], Mapping[str, Undo]]


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


BROUGHT = frozenset({"workload", "policy", "placement", "rebalancer"})
"""What a first placement stands for: whatever brought the object."""


RESUMES = frozenset({"workload", "policy", "placement"})


def edited_since(told: Story, before: Mapping[str, str], rules: Rules) -> frozenset[str]:
    """Whose files differ."""
    paths = told.files.keys() | before.keys()
    whose = {rules.whose(path) for path in paths if told.files.get(path) != before.get(path)}
    return frozenset(whose - {""})


def without(
    told: Story,
    before: Mapping[str, str],
    undone: AbstractSet[str],
    pending: Mapping[str, Undo],
    rules: Rules,
) -> Story:
    """The repository without some edits, and without some of what is pending."""
    files = {path: data for path, data in told.files.items() if rules.whose(path) not in undone}
    files |= {path: data for path, data in before.items() if rules.whose(path) in undone}
    for name in sorted(undone & pending.keys()):
        pending[name](files)
    return Story(files=files, trees=dict(told.trees), now=told.now)


def result_of(told: Story, like: Decision) -> Result:
    """Where a pass has an object, and whether it complains if that was all that was new."""
    found = next(
        (d for d in reconcile(told.world(), told.now).decisions if d.key == like.key), None
    )
    if found is None:
        return like.before, False, False
    return found.after, found.removed, like.before == like.after and bool(found.problem)


def smallest_enough(
    told: Story, before: Mapping[str, str], decision: Decision, rules: Rules
) -> tuple[frozenset[str], frozenset[str]]:
    """All that could be taken back, and all that belongs to a smallest set that is enough."""
    pending = rules.pending(told, decision)
    parts = edited_since(told, before, rules) | pending.keys()
    wanted = result_of(told, decision)

    def suffices(chosen: frozenset[str]) -> bool:
        return wanted == result_of(without(told, before, parts - chosen, pending, rules), decision)

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
    parts, needed = smallest_enough(told, before, decision, rules)
    named = rules.named(decision) & parts
    asked = {"rebalancer", "trigger"}
    if decision.cause.kind is CauseKind.CREATED:
        asked |= BROUGHT
    if CauseKind.EVICTED in decision.cause.kinds:  # as the state has it, or by time
        asked |= {"clusters"}
    if CauseKind.RESUMED in decision.cause.kinds:  # a workload or its policy was suspended
        asked |= RESUMES
        assert needed & RESUMES
    assert (needed - asked, True) == (named - asked, needed & asked <= named), (
        str(decision.cause),
        decision.before,
        decision.after,
        sorted(parts),
        sorted(needed),
    )


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
