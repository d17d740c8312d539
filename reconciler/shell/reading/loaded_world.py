"""A world with what was asked for, so that the same question is answered by the same world."""

from typing import NamedTuple

from reconciler.model.world import World
from reconciler.shell.reading.commit_part import CommitPart
from reconciler.shell.reading.tree_cache import Choice


class AskedFiles(NamedTuple):
    """The commits of inputs and outputs, which outputs, and which of both, `None` for all."""

    revision: str
    outputs: str
    choice: Choice
    part: CommitPart | None


class LoadedWorld(NamedTuple):
    """A world, what was asked for, and the branch that clusters report on, `""` for none."""

    asked: AskedFiles
    branch: str
    world: World
