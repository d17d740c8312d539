"""From a commit to a World: which files there are, what they hold, and what held before.

What a commit changed is told by git, and patched into what was known, so a warm load costs that.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.document_rules import Rules
from reconciler.core.inputs.file_validation import FileValidation
from reconciler.core.inputs.input_files import input_files
from reconciler.core.inputs.input_index import InputIndex, follow_inputs, index_inputs
from reconciler.core.inputs.past_versions import with_past
from reconciler.core.inputs.projected_clusters import with_earlier_projected
from reconciler.core.inputs.world_composition import compose, configuration_of
from reconciler.core.record import LastPass, last_pass
from reconciler.core.state import StateTree
from reconciler.delivery.destinations import roots_of
from reconciler.delivery.record import recorded
from reconciler.delivery.settings import Destination, decode_delivery
from reconciler.manifests.paths import RECORD, output_path
from reconciler.manifests.schemas.schema import Schemas
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.settings import CONFIGURATION_PATH, Settings, decode_settings
from reconciler.model.world import World
from reconciler.schedule.capacity.settings import protects
from reconciler.shell.git.errors import GitError
from reconciler.shell.git.objects import TreeEntry
from reconciler.shell.reading.commit_part import CommitPart
from reconciler.shell.reading.delivered_files import DeliveredFiles
from reconciler.shell.reading.document_cache import INPUTS, OUTPUTS, DocumentCache
from reconciler.shell.reading.earlier_files import EarlierFiles
from reconciler.shell.reading.edited_inputs import EditedInputs
from reconciler.shell.reading.format_guard import FormatGuard
from reconciler.shell.reading.good_versions import GoodVersions, with_scopes
from reconciler.shell.reading.listings import Listings
from reconciler.shell.reading.loaded_world import AskedFiles, LoadedWorld
from reconciler.shell.reading.reported_trees import ReportedTrees, Reports, SourcesOf, paired
from reconciler.shell.reading.state_reader import StateReader
from reconciler.shell.reading.tree_cache import Below, Choice, Track, TreeCache, untracked
from reconciler.shell.reading.trees import Trees
from reconciler.shell.work.validators import FileValidators, file_validators

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
        self._edited = EditedInputs(trees, self._listings)
        self._earlier = EarlierFiles(trees, self._inputs, self.version)
        self._surveyed: InputIndex | None = None
        self._delivered = DeliveredFiles()
        self._delivers: tuple[Destination, ...] = ()
        self._last: LoadedWorld | None = None
        self._last_whole: LoadedWorld | None = None
        self._last_part: LoadedWorld | None = None

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
        return self._last.world

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
    ) -> tuple[str, World]:
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
        wanted = decode_delivery(settings).on("").destinations
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
        earlier = self._earlier.find(world.inputs, versions, last, index.scopes)
        world = with_earlier_projected(replace(world, earlier=earlier))
        delivers = self._delivers or decode_delivery(settings).destinations
        if self._reads_past or delivers or protects(settings):
            world = with_past(world, index.scopes, partial(self._past, used))
        self._inputs.keep(used)
        return branch, world

    def _as_before(self, revision: str) -> str:
        """Return a commit with the reports of the world before: a listing is told from its like."""
        if self._last is None or not self._last.branch:
            return revision
        return paired(revision, self._last.world.reported_at)

    def _past(self, used: set[tuple[str, str]], path: str, blob: str) -> FileValidation | None:
        """Return what an earlier version of a file holds, `None` if it is not there any more."""
        try:
            found = self.version(path, blob)
        except GitError:
            return None
        used.add((path, blob))
        return found

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
        found = [] if entry is None else [self.version(CONFIGURATION_PATH, entry.blob)]
        used.update((CONFIGURATION_PATH, file.blob) for file in found)
        index = index_inputs(found, KINDS)
        good = self._good_versions.find(
            index,
            revision,
            last=last,
            covers=CONFIGURATION_PATH.__eq__,
            recorded=state.manifests,
            used=used,
        )
        return decode_settings(configuration_of(index, good))

    def version(self, path: str, blob: str) -> FileValidation:
        """Return what a version of an input file holds."""
        return self._inputs.version(path, blob, FileValidators(self._rules))
