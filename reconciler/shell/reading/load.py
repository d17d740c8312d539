"""From a commit to a World: which files there are, what they contain, and their last good versions.

Git says what a commit changed, and that is patched into what was known, so a warm load costs only
the change. The state tree is read from one commit to the next: all outputs, or those that one
object reads. The files below the folders of delivery follow from those before by what differs. A
loaded world is kept with what was asked for, so that the same question gets the same world.

The load stops before a repository of a newer format: what is written there may not mean what it
seems.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.index import InputIndex, follow_inputs, index_inputs, input_files
from reconciler.core.inputs.last_known_good import with_past
from reconciler.core.inputs.validation import FileValidation, Rules
from reconciler.core.inputs.world import compose, configuration_of, with_earlier_projected
from reconciler.core.record import LastPass, last_pass, newer_format, recorded_faults
from reconciler.core.restored import with_restored
from reconciler.core.state import (
    StateTree,
    blocks_of,
    check_ours,
    follow_state,
    output_in,
    read_state,
)
from reconciler.delivery.settings import Destination, decode_delivery, recorded, roots_of
from reconciler.errors import ShellError
from reconciler.manifests.paths import RECORD, is_escaped, output_path
from reconciler.manifests.schemas.schema import Schemas
from reconciler.manifests.text.raw import Oversized
from reconciler.manifests.text.reader import read
from reconciler.model.identity import RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import Versioned, differing_keys, patched
from reconciler.model.settings import CONFIGURATION_PATH, Settings, decode_settings
from reconciler.model.world import Manifest, World
from reconciler.schedule.capacity import protects
from reconciler.shell.git.command import GitError, HistoryMissing
from reconciler.shell.git.history import cut_off
from reconciler.shell.git.objects import TreeEntry
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.commit_part import CommitPart
from reconciler.shell.reading.earlier import (
    Before,
    EarlierFiles,
    EditedInputs,
    GoodVersions,
    Restorations,
    with_scopes,
)
from reconciler.shell.reading.tables import INPUTS, OUTPUTS, DocumentCache
from reconciler.shell.reading.tree_cache import Below, Choice, Track, TreeCache, untracked
from reconciler.shell.reading.trees import (
    Listings,
    ReportedTrees,
    Reports,
    SourcesOf,
    Trees,
    paired,
)
from reconciler.shell.work.validators import FileValidators, file_validators
from reconciler.version import __version__


class AskedFiles(NamedTuple):
    """The commits of inputs and outputs, which outputs, and which of both, `None` for all."""

    revision: str
    outputs: str
    choice: Choice
    part: CommitPart | None


class LoadedWorld(NamedTuple):
    """A world, what was asked for, and the branch that clusters report on, `""` for none.

    `lacks` is a file of which a version is not there that clusters still have, `""` for none.
    """

    asked: AskedFiles
    branch: str
    lacks: str
    world: World


Entries = Mapping[str, TreeEntry]
"""Path to entry of the files of a commit."""


class Loader:
    """Loads the worlds of one repository; what it remembers only saves work."""

    def __init__(
        self,
        trees: Trees,
        schemas: Schemas,
        *,
        layout: RepositoryLayout,
        track: Track = untracked,
        processes: int = 1,
        documents: DocumentCache | None = None,
        past: bool = False,
        sources: SourcesOf | None = None,
    ) -> None:
        """Remember where to read and what is ours there.

        Up to so many processes read where there are thousands of files; `documents` are those that
        were parsed before, `None` for none. With `past` the versions that clusters are held on are
        read even where nothing is delivered. `sources` returns the commits of inputs and outputs at
        a revision where outputs have a branch of their own.
        """
        trees = ReportedTrees(trees)
        self._layout = layout
        self._sources = sources
        self._reads_past = past
        self._processes = processes
        self._rules = {
            INPUTS: Rules(schemas, ADMISSIONS, KINDS),
            OUTPUTS: Rules(schemas, {}, KINDS, status_only=True),
        }
        self._listings = Listings(trees, layout.output_root)
        self._output_listings = Listings(trees, layout.output_root) if sources else self._listings
        self._documents = documents
        self._formats = FormatGuard(trees)
        cache = partial(TreeCache, trees, documents=documents)
        self._inputs = cache(self._listings, INPUTS, track=track)
        outputs = self._output_listings
        self._states, self._parts = (
            StateReader(cache(outputs, OUTPUTS, track=shown), outputs, layout.output_root)
            for shown in (track, untracked)
        )
        self._every = Below(layout.output_root)
        self._good_versions = GoodVersions(self._listings, self.version)
        self._edited = EditedInputs(trees, self._listings, layout)
        self._earlier = EarlierFiles(trees, self._inputs, self.version)
        self._restorations = Restorations(trees, self.version, self._output, layout.output_root)
        self._surveyed: InputIndex | None = None
        self._delivered = DeliveredFiles()
        self._delivers: tuple[Destination, ...] = ()
        self._last: LoadedWorld | None = None
        self._last_whole: LoadedWorld | None = None
        self._last_part: LoadedWorld | None = None
        self._lacks = ""

    @property
    def layout(self) -> RepositoryLayout:
        """Where passes write."""
        return self._layout

    def sources_of(self, revision: str) -> tuple[str, str]:
        """Return the commits of inputs and outputs at a revision."""
        return (revision, revision) if self._sources is None else self._sources(revision)

    def load(
        self,
        revision: str,
        *,
        outputs: str | None = None,
        reports: Reports | None = None,
        only: Choice | None = None,
        part: CommitPart | None = None,
    ) -> World:
        """Return the world at a commit.

        Args:
            revision: Full hex id of the commit or tree that has the inputs.
            outputs: Full hex id of the one that has the outputs; `None` means the same, or those
                that belong to it on their own branch.
            reports: Returns the commit of the branch that clusters report on, where the
                configuration names one; `None` takes that of the last pass.
            only: The outputs to read, `None` for all; what was read for all is kept beside.
            part: The files to read of inputs and outputs, `None` for all.

        Returns:
            The very same world if the one before was asked for; documents that did not change are
            the very same ones.

        Raises:
            GitError: The commit cannot be read.
            ShellError: The last good version of a faulty file is not in this repository.
            UsageError: The output root is a folder of people's manifests.
        """
        if outputs is None:
            revision, outputs = self.sources_of(revision)
        only = only if part is None else part.outputs
        asked = AskedFiles(revision, outputs, only or self._every, part)
        last = self._last_whole if only is None else self._last_part
        if last is not None and last.asked == asked:
            reported = None if reports is None or not last.branch else reports(last.branch) or ""
            if reported in (None, last.world.reported_at):
                self._lacks = last.lacks
                return last.world
        is_first = only is None and self._last_whole is None
        total = self._unparsed(revision) if is_first or not (self._last or part) else 0
        try:
            with file_validators(self._rules, total, processes=self._processes) as by:
                self._last = LoadedWorld(
                    asked, *self._load(asked, reports, by, last and last.world)
                )
        except BaseException:
            self._surveyed = None  # it may lag behind its files, and so may what follows
            self._states.forget()
            self._parts.forget()
            raise
        if only is None:
            self._last_whole = self._last
        else:
            self._last_part = self._last
        self._lacks = self._last.lacks
        return self._last.world

    def check_past(self, repository: Repository) -> None:
        """Refuse the world that was asked for last if its clone lacks what clusters still have.

        A pass holds what depends on a version that is lost. Here it is not lost but not fetched: no
        other clone would decide so.

        Args:
            repository: Where it was read.

        Raises:
            HistoryMissing: The clone is shallow, or partial, and lacks a version.
        """
        if not self._lacks:
            return
        problem: HistoryMissing | None = repository.git.partial("missing")
        if cut_off(repository):
            problem = HistoryMissing(
                f"this clone is shallow and lacks a version of {self._lacks} that clusters still "
                "have; fetch the rest with git fetch --unshallow"
            )
        if problem is not None:
            self._last = self._last_whole = self._last_part = None  # it may be there by next time
            raise problem

    def has_outputs(self, revision: str) -> bool:
        """Return whether a commit has the record of a pass."""
        return output_path(self._layout.output_root, RECORD) in self._listings.entries(revision)

    def entries(self, revision: str) -> tuple[Entries, Entries]:
        """Return the files of the commits of inputs and outputs, as of the world loaded last."""
        inputs, outputs = self.sources_of(revision)
        listed = self._listings.entries(self._as_before(inputs))
        return listed, self._output_listings.entries(outputs)

    def read_last(self) -> Iterator[tuple[str, Iterable[FileValidation]]]:
        """Yield what was found in the inputs and outputs that were read last, by their rules."""
        yield INPUTS, self._inputs.files
        states = self._states if self._last is self._last_whole else self._parts
        yield OUTPUTS, states.files

    def keep_documents(self, *, pieces: int) -> bool:
        """Write so many pieces of what was parsed, and return whether more is left."""
        return self._documents is not None and self._documents.save(pieces=pieces)

    def _unparsed(self, revision: str) -> int:
        """Return about how many files of a commit were not parsed before."""
        entries = self._listings.entries(revision)
        if self._documents is None:
            return len(entries)
        files = ((path, entry.blob) for path, entry in entries.items())
        return self._documents.unknown_among(files, self._every)

    def _load(
        self, asked: AskedFiles, reports: Reports | None, by: FileValidators, before: World | None
    ) -> tuple[str, str, World]:
        """Compose a world from what changed since the one before; see `LoadedWorld`."""
        revision, outputs, choice, part = asked
        record = output_path(self._layout.output_root, RECORD)
        self._formats.check(record, self._output_listings.entries(outputs).get(record))
        states = self._states if choice is self._every else self._parts
        state = states.follow(outputs, choice, by)
        self._delivers = recorded(state.manifests)
        last = last_pass(state.manifests)
        reported_at = "" if last is None else last.reported_at
        used: set[tuple[str, str]] = set()
        settings = self._settings(self._as_before(revision), last, state, used)
        branch = settings.feedback_branch
        if branch and reports is not None:
            reported_at = reports(branch) or ""
        inputs = paired(revision, reported_at) if branch else revision
        delivery = decode_delivery(settings)
        wanted = delivery.on("").destinations
        roots = frozenset(roots_of((*self._delivers, *wanted))) - {""}
        self._output_listings.watch(roots)
        covers = input_files(settings, self._layout, state.manifests)
        chosen = covers if part is None else part.inputs
        index = self._follow_survey(inputs, chosen, by, settings.allowed)
        versions = self._edited.find(last, inputs, covers)
        edited = {path: self._inputs.kinds_at(path) for path in versions}
        good_versions = partial(
            self._good_versions.find,
            last=last,
            covers=covers,
            recorded=state.manifests,
            used=used,
            allow=settings.safety.allow,
            edited=edited,
            unread=None if part is None else part.unread,
        )
        index, good = with_scopes(
            index, self._inputs.files, partial(good_versions, revision=inputs)
        )
        world = compose(
            index,
            good,
            state,
            revision=revision,
            layout=self._layout,
            reported_at=reported_at if branch else "",
            delivered=self._delivered.follow(self._output_listings.entries(outputs), roots),
            obstacles=self._output_listings.listing(outputs).in_the_way(roots),
            edited=edited,
            last=before,
        )
        earlier, former = self._earlier.find(world, versions, last, index.scopes)
        world = with_earlier_projected(replace(world, earlier=earlier, former=former))
        world = self._with_restorations(world, versions, index.scopes, outputs)
        lacking: list[str] = []
        if self._reads_past or self._delivers or delivery.destinations or protects(settings):
            past = with_past(
                with_restored(world), index.scopes, partial(self._past, used, lacking)
            ).past
            world = replace(world, past=past) if past else world
        self._inputs.keep(used)
        return branch, min(lacking, default=""), world

    def _with_restorations(
        self, world: World, edited: Before, scopes: Mapping[Kind, bool], outputs: str
    ) -> World:
        """Return a world with what `reconciler.dev/restore` asks for, and what is wrong with it."""
        restoring, faults = self._restorations.find(
            world.inputs, edited, self._inputs, scopes, outputs, recorded_faults(world.outputs)
        )
        if not (restoring or faults):
            return world
        every = tuple(sorted({*world.faults, *faults}))
        return replace(world, restoring=restoring, faults=every)

    def _as_before(self, revision: str) -> str:
        """Return a commit with the reports of the world before: a listing is told from its like."""
        if self._last is None or not self._last.branch:
            return revision
        return paired(revision, self._last.world.reported_at)

    def _past(
        self, used: set[tuple[str, str]], lacking: list[str], path: str, blob: str
    ) -> FileValidation | None:
        """Return what an earlier version of a file holds, `None` if it is not there any more."""
        try:
            file = self.version(path, blob)
        except GitError:
            lacking.append(path)
            return None
        used.add((path, blob))
        return file

    def _follow_survey(
        self, revision: str, choice: Choice, by: FileValidators, allowed: frozenset[str]
    ) -> InputIndex:
        """Read the files of people, under a configuration that allows something."""
        move = self._inputs.follow(revision, choice, by)
        if self._surveyed is None or self._surveyed.allowed != allowed:
            self._surveyed = index_inputs(move.files.values(), KINDS, allowed=allowed)
        else:
            self._surveyed = follow_inputs(self._surveyed, move)
        return self._surveyed

    def _settings(
        self, revision: str, last: LastPass | None, state: StateTree, used: set[tuple[str, str]]
    ) -> Settings:
        """Read the configuration first, since it says which files are read."""
        entry = self._listings.entries(revision).get(CONFIGURATION_PATH)
        self._formats.check(CONFIGURATION_PATH, entry)
        files = [] if entry is None else [self.version(CONFIGURATION_PATH, entry.blob)]
        used.update((CONFIGURATION_PATH, file.blob) for file in files)
        index = index_inputs(files, KINDS)
        good = self._good_versions.find(
            index,
            revision,
            last=last,
            covers=CONFIGURATION_PATH.__eq__,
            recorded=state.manifests,
            used=used,
        )
        return decode_settings(configuration_of(index, good))

    def _output(self, path: str, blob: str) -> Manifest | None:
        """Return the output that a version of a file below the output root holds."""
        return self._states.output(path, blob, FileValidators(self._rules))

    def version(self, path: str, blob: str) -> FileValidation:
        """Return what a version of an input file holds."""
        return self._inputs.version(path, blob, FileValidators(self._rules))


class StateReader:
    """Reads what stands below the output root; a following commit costs what differs."""

    def __init__(self, cache: TreeCache, listings: Listings, root: str) -> None:
        self._cache = cache
        self._listings = listings
        self._root = root
        self._state: StateTree | None = None
        self._choice: Choice | None = None

    @property
    def files(self) -> Iterable[FileValidation]:
        """What the chosen files hold at the commit that was asked for last."""
        return self._cache.files

    def follow(self, revision: str, choice: Choice, by: FileValidators) -> StateTree:
        """Go on to a commit, and return the chosen outputs.

        Raises:
            UsageError: The output root is a folder of people's manifests.
        """
        move = self._cache.follow(revision, choice, by)
        self._cache.keep(())
        listing = self._listings.listing(revision)
        blocks = blocks_of(listing.links | listing.others, self._root, KINDS)
        if self._state is None or choice != self._choice:
            self._state = read_state(move.files.values(), self._root, KINDS, blocks)
        else:
            self._state = follow_state(self._state, move, self._root, KINDS, blocks)
        self._choice = choice
        check_ours(self._state, self._root)
        return self._state

    def output(self, path: str, blob: str, by: FileValidators) -> Manifest | None:
        """Return the output that a version of a file holds, `None` if it is none of ours."""
        return output_in(self._cache.version(path, blob, by), self._root, KINDS)

    def forget(self) -> None:
        """Begin anew: what is known may lag behind its files."""
        self._state = None


FEW = 1000  # versions of two files


class NewerFormat(ShellError):
    """A repository has a format that this release does not know; a newer one may take it."""


@dataclass(slots=True, eq=False)
class FormatGuard:
    """Looks at the documents that say which format a repository has, each version once."""

    trees: Trees
    _good: set[str] = field(default_factory=set)

    def check(self, path: str, entry: TreeEntry | None) -> None:
        """Refuse a newer format; what cannot be read is told elsewhere.

        Raises:
            NewerFormat: The file has one.
        """
        if entry is None or not entry.is_file or entry.blob in self._good:
            return
        for _, content in self.trees.blobs([entry.blob]):
            if isinstance(content, Oversized):
                continue
            for document in read(content, path).documents:
                if newer := newer_format(document.body):
                    raise NewerFormat(
                        f"{path} has {newer} ({__version__}); upgrade the reconciler, and "
                        "nothing is decided until then, see docs/upgrade.md"
                    )
        if len(self._good) >= FEW:
            self._good.clear()
        self._good.add(entry.blob)


class DeliveredFiles:
    """The files of delivery in one commit after the other, as path to blob id."""

    def __init__(self, branch: str = "") -> None:
        """Begin without having seen a commit of a branch; `""` is the one that is served.

        Files of another one are told as git does: `BRANCH:PATH`.
        """
        self._prefix = f"{branch}:" if branch else ""
        self._roots: frozenset[str] = frozenset()
        self._listed: Mapping[str, TreeEntry] = {}
        self._files: Mapping[str, str] = Versioned()

    def follow(self, listed: Mapping[str, TreeEntry], roots: frozenset[str]) -> Mapping[str, str]:
        """Return the files below some folders, given all files of a commit."""
        if roots != self._roots:
            self._roots, self._listed, self._files = roots, {}, Versioned()
        if roots:
            prefix, below = self._prefix, tuple(f"{root}/" for root in roots)
            names = {path: f"{prefix}{path}" for path in differing_keys(listed, self._listed)}
            mine = {
                path: name
                for path, name in names.items()
                if name.startswith(below) and not is_escaped(path)
            }
            came = {name: listed[path].blob for path, name in mine.items() if path in listed}
            gone = [name for path, name in mine.items() if path not in listed]
            self._files = patched(self._files, came, gone)
            self._listed = listed
        return self._files
