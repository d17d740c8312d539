"""Stories whose passes remember, and a memory that lacks one kind of what was read."""

from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest

from reconciler.core.changes import Outcome
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.reads import Question, ReadIndex, Reads
from reconciler.model.world import World
from tests.stories import Story, applied, linked

SETTLED = 4  # passes until nothing moves any more
HOUR = timedelta(hours=1)

Changes = Mapping[str, tuple[Callable[[], Story], Callable[[Story], object]]]
"""By kind of read a story, and a change of it that only such a read tells of."""


class RememberedStory:
    """A story with a memory, and the world of its last pass."""

    memo: Memo
    world: World | None

    def __init__(self, told: Story) -> None:
        """Let passes run until nothing moves."""
        self.told, self.memo, self.world = told, Memo(), None
        for _ in range(SETTLED):
            told.files = applied(told.files, self.advance())
            told.now += HOUR

    def advance(self) -> Outcome:
        """Run a pass that remembers."""
        self.world = linked(self.told.world(), self.world)
        return reconcile(self.world, self.told.now, memo=self.memo)


def after_the_change(changes: Changes, kind: str) -> tuple[Outcome, Outcome]:
    """What a pass says after a change, with a memory of those before, and without."""
    begin, change = changes[kind]
    story = RememberedStory(begin())
    change(story.told)
    return story.advance(), reconcile(story.told.world(), story.told.now)


def kind_of(question: Question) -> object:
    """The kind of a question; a cluster is asked by its bare name."""
    return question[0] if isinstance(question, tuple) else "name"


def overlook(kind: str, patch: pytest.MonkeyPatch) -> None:
    """Let no table record one kind of read."""
    put = ReadIndex[object].put

    def lacking(index: ReadIndex[object], key: object, reads: Reads) -> None:
        put(index, key, frozenset(one for one in reads if kind_of(one) != kind))

    patch.setattr(ReadIndex, "put", lacking)
