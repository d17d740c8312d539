"""Which commits a world is made from: outputs and reports may have branches of their own.

The files on the other branches that are delivered to are read here for those who only look.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from reconciler.audit.history.revisions import FROM
from reconciler.core.message import CommitPurpose, Purpose
from reconciler.delivery.settings import decode_delivery, roots_of
from reconciler.errors import ShellError, UsageError
from reconciler.manifests.paths import DELIVERY
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.shell.git.command import LostRace
from reconciler.shell.git.history import is_ancestor, list_range, read_commits
from reconciler.shell.git.publish import BranchMove
from reconciler.shell.git.repository import COMMIT_ID, EMPTY_TREES, Repository, check_branch
from reconciler.shell.git.signing import CommitSigning, SigningKey
from reconciler.shell.reading.load import DeliveredFiles, Loader
from reconciler.shell.reading.trees import GitTrees, Listing, Listings, SourcesOf

if TYPE_CHECKING:
    from reconciler.shell.git.checkout.moves import KeptEdit
    from reconciler.shell.passes.branches import Branch
    from reconciler.shell.passes.trust import Trust


class Sources(NamedTuple):
    """Full hex ids of the commits that have the inputs and the outputs, mostly the same one."""

    inputs: str
    outputs: str

    def load(self, loader: Loader, reports: Callable[[str], str | None] | None = None) -> World:
        """Return the world; see `Loader.load`."""
        return loader.load(self.inputs, outputs=self.outputs, reports=reports)


class Heads(NamedTuple):
    """Where the branches are that a pass reads; `None` for one that is not there, or not read.

    `tip` is where the branch is that a pass moves, if that is not accepted; `None` if it is. `gone`
    says that somebody deleted the branch of the outputs, which are those that were accepted last.
    `unread` is where the branch is that a pass moves, if that could not be fetched: nothing can be
    written there.
    """

    inputs: str
    outputs: str | None
    reports: str | None
    tip: str | None = None
    gone: bool = False
    unread: str | None = None

    @property
    def parent(self) -> str | None:
        """The commit that a pass writes its own on; `None` for one without history."""
        return self.tip or self.outputs

    @property
    def old(self) -> str | None:
        """Where the branch is that a pass moves, `None` if it is not there."""
        return None if self.gone else self.parent


@dataclass(frozen=True, slots=True)
class ServedBranches:
    """The branches of a pass.

    Attributes:
        inputs: The branch of what people write.
        layout: Which branch and which folder passes write to.
        trust: Tells which commits are decided from, `None` if all are.
        asks: Whether a remote is asked where its branches are, or what it said last counts.
    """

    inputs: "Branch"
    layout: RepositoryLayout
    trust: "Trust | None" = None
    asks: bool = True

    @property
    def known(self) -> "ServedBranches":
        """The same branches as they are known here: nothing is fetched.

        Of inputs on a branch beside the outputs, nothing is judged, either.
        """
        return replace(self, asks=False)

    @property
    def repository(self) -> Repository:
        """Where commits are written."""
        return self.inputs.repository

    @property
    def moved(self) -> str:
        """Name of the branch that passes move."""
        return self.layout.moved(self.inputs.name)

    def signing(self, key: SigningKey | None) -> CommitSigning | None:
        """Return how a key signs what passes decide, `None` if there is none."""
        root = self.repository.prefix
        return CommitSigning.by(key, CommitPurpose(Purpose.DECISIONS, self.moved, root))

    def heads(self, feedback_branch: str = "", *, fetched: bool = True) -> Heads:
        """Return where the branches are; reports only where they have a branch of their own.

        Unless they are fetched, it is where they were when somebody fetched or pushed them last.
        """
        reports = self.reports(feedback_branch) if feedback_branch else None
        before = self._accepted()
        beside = self.beside if fetched else self.repository.find
        inputs = self._inputs(before, fetched=fetched)
        outputs = beside(self.moved) if self.layout.apart else inputs
        unread = [one.revision for one in self.inputs.unfetched if one.branch == self.moved]
        heads = Heads(inputs, outputs, reports, unread=next(filter(None, unread), None))
        return heads if self.trust is None else self._trusted(heads, self.trust, before)

    def _inputs(self, before: Mapping[str, str | None], *, fetched: bool) -> str:
        if not self.asks:
            return self._known_inputs(before)
        return self.inputs.head() if fetched else self.repository.resolve(self.inputs.name)

    def beside(self, name: str) -> str | None:
        """Return where a branch is, as its remote says now or said last."""
        return self.inputs.beside(name) if self.asks else self.repository.find(name)

    def _known_inputs(self, before: Mapping[str, str | None]) -> str:
        """Return the commit of the inputs that is known here: the accepted one where that will do.

        Raises:
            LostRace: None is, so the remote has to be asked.
        """
        accepts = self.trust is not None and self.layout.apart
        name = self.inputs.name
        revision = before[name] if accepts else self.repository.find(name)
        if revision is None:
            raise LostRace(f"nothing is known here of the branch {name}")
        return revision

    def _accepted(self) -> dict[str, str | None]:
        """Return what was accepted last, by branch."""
        if self.trust is None:
            return {}
        return {name: self.trust.accepted(name) for name in {self.inputs.name, self.moved}}

    def _trusted(self, heads: Heads, trust: "Trust", before: Mapping[str, str | None]) -> Heads:
        """Return the commits to decide from: those that are accepted."""
        name, head, inputs = self.inputs.name, heads.outputs, heads.inputs
        if self.asks or not self.layout.apart:  # else they are what was accepted
            line = trust.accept(name, inputs, before[name])
            inputs = line.commit
        if head is None:
            outputs = before[self.moved]
            return heads._replace(inputs=inputs, outputs=outputs, gone=outputs is not None)
        if self.layout.apart:
            begun = before[self.moved] or self._begun(trust, head)
            line = trust.accept(self.moved, head, begun)
        tip = None if line.refused is None else head
        return heads._replace(inputs=inputs, outputs=line.written, tip=tip)

    def accepted_of(self, trust: "Trust", branch: str, head: str) -> str | None:
        """Return what counts of a branch before its head is looked at, `None` if nothing does."""
        return trust.accepted(branch) or self._begun(trust, head)

    def _begun(self, trust: "Trust", head: str) -> str | None:
        """Return where another branch begins at what was accepted of the served one, if it does."""
        accepted = trust.accepted(self.inputs.name)
        leads = accepted is not None and is_ancestor(self.repository, accepted, head)
        return accepted if leads else None

    def reports(self, name: str) -> str | None:
        """Return the commit of a branch that clusters report on; `None` if there never was one."""
        try:
            before = None if self.trust is None else self.trust.accepted(name)
            head = self.beside(name)
        except UsageError:  # the configuration names what git takes for no branch
            return None
        if head is None or self.trust is None or (before and not self.asks):
            return before or head  # whoever deletes it takes back nothing that was accepted
        from reconciler.shell.passes.trust import NothingTrusted  # noqa: PLC0415  # few roots do

        try:
            served = name in (self.inputs.name, self.moved)
            purpose = Purpose.DECISIONS if served else Purpose.REPORTS
            before = before or self._begun(self.trust, head)
            return self.trust.accept(name, head, before, purpose=purpose).commit
        except NothingTrusted as refused:
            raise ShellError(f"reports cannot be read: {refused}") from None

    def other(self, name: str) -> tuple[str | None, str | None]:
        """Return where a branch is that is delivered to, and the commit of it that is trusted.

        The first time it is taken as it is. Later on, whatever others did to it does not count; one
        that was deleted has what was accepted of it.
        """
        before = None if self.trust is None else self.trust.accepted(name)
        head = self.beside(name)
        if self.trust is None or before is None or head is None:
            return head, head or before
        return head, self.trust.accept(name, head, before, purpose=Purpose.DELIVERY).written

    def load(
        self, loader: Loader, heads: Heads, reports: Callable[[str], str | None] | None = None
    ) -> World:
        """Return the world at some heads.

        Args:
            loader: Reads it.
            heads: Where the branches are.
            reports: Returns the commit of a branch that clusters report on, `None` fetches it.

        Raises:
            UsageError: The branch of outputs is not there, and the inputs hold outputs; or it, one
                of reports, or one that is delivered to, is only there as it was fetched.
        """
        outputs = heads.outputs
        if outputs is None:
            self._refuse_beside_origin(self.moved)
            outputs = EMPTY_TREES[self.repository.object_format]
            if loader.has_outputs(heads.inputs):
                raise UsageError(
                    f"the branch {self.moved} is not there, and {self.inputs.name} has "
                    f"outputs: start it from them with git branch {self.moved} "
                    f"{self.inputs.name}, and remove them from {self.inputs.name} afterwards"
                )
        world = Sources(heads.inputs, outputs).load(loader, reports or self.reports)
        settings = settings_in(world)
        beside = (settings.feedback_branch, settings.used_branch)
        for name in (*filter(None, beside), *decode_delivery(settings).branches):
            if self.trust is None or self.trust.accepted(name) is None:
                self._refuse_beside_origin(name)
        return world

    def _refuse_beside_origin(self, name: str) -> None:
        """Raise if a branch is taken for none here, though origin has it."""
        if self.repository.is_only_fetched(name):
            raise UsageError(
                f"the branch {name} is not in this clone, and origin/{name} is: go on from it "
                f"with git branch {name} origin/{name}"
            )

    def may_move_with(self, others: Iterable[str]) -> bool:
        """Return whether the branch of the outputs and others may move in one transaction."""
        return self.inputs.may_move_together([self.moved, *others])

    def publish_together(self, heads: Heads, new: str, others: Sequence[BranchMove]) -> bool:
        """Move the branch of the outputs and others in one transaction; false if none has moved.

        Raises:
            LostRace: One of them is elsewhere, and none has moved.
        """
        moved = self.inputs.publish_together([BranchMove(self.moved, heads.old, new), *others])
        if moved:
            self._accept_own(heads, new)
            for other in others:
                self._accept_other(other)
        return moved

    def publish(self, heads: Heads, new: str) -> "tuple[KeptEdit, ...]":
        """Move the branch of the outputs, or raise `LostRace`; return the edits that stay."""
        if self.layout.apart:
            kept = self.inputs.publish_beside(self.moved, old=heads.old, new=new)
        else:
            kept = self.inputs.publish(old=heads.tip or heads.inputs, new=new)
        self._accept_own(heads, new)
        return kept

    def publish_other(self, move: BranchMove) -> "tuple[KeptEdit, ...]":
        """Move a branch that is delivered to, or raise `LostRace`; return the edits that stay."""
        kept = self.inputs.publish_beside(move.name, old=move.old, new=move.new)
        self._accept_other(move)
        return kept

    def _accept_other(self, move: BranchMove) -> None:
        if self.trust is not None:
            self.trust.accept_own(move.name, move.new, move.old)

    def bring_back(self, heads: Heads) -> None:
        """Set the branch of the outputs to what was accepted last, if somebody deleted it."""
        if heads.gone and heads.outputs is not None:
            self.publish(heads, heads.outputs)

    def _accept_own(self, heads: Heads, new: str) -> None:
        """Accept what a pass wrote on an accepted commit, so that nobody can undo it meanwhile."""
        if self.trust is not None and heads.tip is None:
            self.trust.accept_own(self.moved, new, heads.outputs)


def finding_sources(repository: Repository, layout: RepositoryLayout) -> SourcesOf | None:
    """Return what finds the sources at a revision; `None` where outputs have no branch."""
    if layout.output_branch is None:
        return None
    return partial(sources_at, repository, check_branch(layout.output_branch))


def sources_at(repository: Repository, outputs: str, revision: str) -> Sources:
    """Return the commits of the world at a revision of either branch.

    Args:
        repository: Where to look.
        outputs: The branch of the outputs.
        revision: Full hex id of a commit.

    Returns:
        Of a commit of outputs, it and the inputs that it names. Of one of inputs, it and the
        newest outputs that were made of it or of what came before it, or no outputs.
    """
    head = repository.find_fetched(outputs)
    line = [] if head is None else list_range(repository, head)
    newest: str | None = None
    if revision in line:
        line = line[line.index(revision) :]
        named = filter(None, _inputs_along(repository, line))
        return Sources(next(named, revision), revision)
    for written, inputs in zip(line, _inputs_along(repository, line), strict=True):
        newest = written if newest is None else newest
        if inputs is None:
            continue
        if inputs == revision or is_ancestor(repository, inputs, revision):
            return Sources(revision, newest)
        newest = None
    return Sources(revision, EMPTY_TREES[repository.object_format])


def inputs_named(trailers: tuple[tuple[str, str], ...]) -> str | None:
    """Return the commit of the inputs that a commit names, `None` if it names none."""
    revision = dict(trailers).get(FROM, "")
    return revision if COMMIT_ID.fullmatch(revision) else None


def _inputs_along(repository: Repository, line: list[str]) -> Iterator[str | None]:
    """Yield for each commit of outputs the inputs that it names, `None` for a person's."""
    return (inputs_named(commit.trailers) for commit in read_commits(repository, line))


def branch_files(repository: Repository, world: World) -> dict[str, Mapping[str, str]]:
    """Return path to blob id of what is delivered, by branch, as the branches are now.

    A branch is the one of this repository, or else the one of its origin; one that is in neither
    is left out.
    """
    delivery = decode_delivery(settings_in(world))
    by_branch = {}
    for name in delivery.branches:
        head = repository.find_fetched(name)
        if head is not None:
            listed = Listings(GitTrees(repository), DELIVERY.name).entries(head)
            roots = frozenset(roots_of(delivery.on(name).destinations))
            by_branch[name] = DeliveredFiles(name).follow(listed, roots)
    return by_branch


def on_branch(
    world: World,
    name: str,
    listings: Listings,
    head: str | None,
    files: DeliveredFiles,
    roots: Collection[str],
) -> World:
    """Return a world with what stands below the folders of delivery on another branch.

    Args:
        world: What is delivered there.
        name: The branch.
        listings: Those of its commits.
        head: Full hex id of the commit that it is at, `None` if there is no such branch.
        files: Its delivered files, followed.
        roots: The folders, as `BRANCH:PATH`.
    """
    prefix = f"{name}:"
    plain = frozenset(root.removeprefix(prefix) for root in roots)
    listings.watch(plain)
    listing = Listing({}, frozenset(), frozenset()) if head is None else listings.listing(head)
    return replace(
        world,
        delivered=files.follow(listing.files, frozenset(roots)),
        obstacles=frozenset(f"{prefix}{path}" for path in listing.in_the_way(plain)),
    )
