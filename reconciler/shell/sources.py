"""Which commits a world is made from: outputs and reports may have branches of their own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from reconciler.audit.revisions import FROM
from reconciler.errors import ShellError, UsageError
from reconciler.model.world import World
from reconciler.shell.branches import Branch
from reconciler.shell.git.history import read_commits
from reconciler.shell.git.publish import BranchMove
from reconciler.shell.git.repository import COMMIT_ID, EMPTY_TREES, Repository, check_branch
from reconciler.shell.git.revisions import is_ancestor, list_range
from reconciler.shell.load import Loader
from reconciler.shell.reported_trees import SourcesOf
from reconciler.shell.trust import NothingTrusted, Trust


class Sources(NamedTuple):
    """Full hex ids of the commits that have the inputs and the outputs, mostly the same one."""

    inputs: str
    outputs: str

    def load(self, loader: Loader, reports: Callable[[str], str | None] | None = None) -> World:
        """Return the world; see `Loader.load`."""
        return loader.load(self.inputs, outputs=self.outputs, reports=reports)


class Heads(NamedTuple):
    """Where the branches are that a pass reads; `None` for one that is not there, or not read.

    `tip` is where the branch is that a pass moves, if that is not accepted; `None` if it is.
    """

    inputs: str
    outputs: str | None
    reports: str | None
    tip: str | None = None

    @property
    def parent(self) -> str | None:
        """The commit that a pass writes its own on; `None` for one without history."""
        return self.tip or self.outputs


@dataclass(frozen=True, slots=True)
class ServedBranches:
    """The branches of a pass.

    Attributes:
        inputs: The branch of what people write.
        output_branch: Name of the one that passes commit to, `None` where that is the same.
        trust: Tells which commits are decided from, `None` if all are.
    """

    inputs: Branch
    output_branch: str | None = None
    trust: Trust | None = None

    @property
    def repository(self) -> Repository:
        """Where commits are written."""
        return self.inputs.repository

    @property
    def moved(self) -> str:
        """Name of the branch that passes move."""
        return self.inputs.name if self.output_branch is None else self.output_branch

    def heads(self, feedback_branch: str = "") -> Heads:
        """Return where the branches are; reports only where they have a branch of their own."""
        reports = self.reports(feedback_branch) if feedback_branch else None
        before = self._accepted()
        inputs = self.inputs.head()
        outputs = inputs if self.output_branch is None else self.inputs.beside(self.output_branch)
        heads = Heads(inputs, outputs, reports)
        return heads if self.trust is None else self._trusted(heads, self.trust, before)

    def _accepted(self) -> dict[str, str | None]:
        """Return what was accepted last, by branch."""
        if self.trust is None:
            return {}
        return {name: self.trust.accepted(name) for name in {self.inputs.name, self.moved}}

    def _trusted(self, heads: Heads, trust: Trust, before: Mapping[str, str | None]) -> Heads:
        """Return the commits to decide from: those that are accepted."""
        line = trust.accept(self.inputs.name, heads.inputs, before[self.inputs.name])
        inputs, head = line.commit, heads.outputs
        if head is None:
            return heads._replace(inputs=inputs)
        if self.output_branch is not None:
            line = trust.accept(self.output_branch, head, before[self.output_branch])
        tip = None if line.refused is None else head
        return heads._replace(inputs=inputs, outputs=line.written, tip=tip)

    def reports(self, name: str) -> str | None:
        """Return the commit of a branch that clusters report on; `None` if there is none."""
        try:
            before = None if self.trust is None else self.trust.accepted(name)
            head = self.inputs.beside(name)
        except UsageError:  # the configuration names what git takes for no branch
            return None
        if head is None or self.trust is None:
            return head
        try:
            return self.trust.accept(name, head, before).commit
        except NothingTrusted as refused:
            raise ShellError(f"reports cannot be read: {refused}") from None

    def load(self, loader: Loader, heads: Heads) -> World:
        """Return the world at some heads.

        Raises:
            UsageError: The branch of outputs is not there, and the inputs hold outputs.
        """
        outputs = heads.outputs
        if outputs is None:
            outputs = EMPTY_TREES[self.repository.object_format]
            if loader.has_outputs(heads.inputs):
                raise UsageError(
                    f"the branch {self.output_branch} is not there, and {self.inputs.name} has "
                    f"outputs: start it from them with git branch {self.output_branch} "
                    f"{self.inputs.name}, and remove them from {self.inputs.name} afterwards"
                )
        return Sources(heads.inputs, outputs).load(loader, self.reports)

    def may_move_with(self, others: Iterable[str]) -> bool:
        """Return whether the branch of the outputs and others may move in one transaction."""
        return self.inputs.may_move_together([self.moved, *others])

    def publish_together(self, heads: Heads, new: str, others: Sequence[BranchMove]) -> bool:
        """Move the branch of the outputs and others in one transaction; false if none has moved.

        Raises:
            LostRace: One of them is elsewhere, and none has moved.
        """
        return self.inputs.publish_together([BranchMove(self.moved, heads.parent, new), *others])

    def publish(self, heads: Heads, new: str) -> None:
        """Move the branch of the outputs, or raise `LostRace`."""
        if self.output_branch is None:
            self.inputs.publish(old=heads.tip or heads.inputs, new=new)
        else:
            self.inputs.publish_beside(self.output_branch, old=heads.parent, new=new)


def finding_sources(repository: Repository, output_branch: str | None) -> SourcesOf | None:
    """Return what finds the sources at a revision; `None` where outputs have no branch."""
    if output_branch is None:
        return None
    return partial(sources_at, repository, output_branch=check_branch(output_branch))


def sources_at(repository: Repository, revision: str, *, output_branch: str) -> Sources:
    """Return the commits of the world at a revision of either branch.

    Args:
        repository: Where to look.
        revision: Full hex id of a commit.
        output_branch: The branch of the outputs.

    Returns:
        Of a commit of outputs, it and the inputs that it names. Of one of inputs, it and the
        newest outputs that were made of it or of what came before it, or no outputs.
    """
    head = repository.find_fetched(output_branch)
    line = [] if head is None else list_range(repository, head)
    newest: str | None = None
    if revision in line:
        line = line[line.index(revision) :]
        named = filter(None, _inputs_along(repository, line))
        return Sources(next(named, revision), revision)
    for outputs, inputs in zip(line, _inputs_along(repository, line), strict=True):
        newest = outputs if newest is None else newest
        if inputs is None:
            continue
        if inputs == revision or is_ancestor(repository, inputs, revision):
            return Sources(revision, newest)
        newest = None
    return Sources(revision, EMPTY_TREES[repository.object_format])


def inputs_named(trailers: tuple[tuple[str, str], ...]) -> str | None:
    """Return the commit of the inputs that a commit names, `None` if it names none."""
    found = dict(trailers).get(FROM, "")
    return found if COMMIT_ID.fullmatch(found) else None


def _inputs_along(repository: Repository, line: list[str]) -> Iterator[str | None]:
    """Yield for each commit of outputs the inputs that it names, `None` for a person's."""
    return (inputs_named(commit.trailers) for commit in read_commits(repository, line))
