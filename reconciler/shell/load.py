"""From a commit to a World: which files there are, what they hold, and what held before.

What a commit changed is told by git, and patched into what was known, so a warm load costs that.
"""

from collections.abc import Callable, Mapping
from functools import partial

from reconciler.core.admissions import ADMISSIONS
from reconciler.core.dialects import KINDS
from reconciler.core.file_validation import FileValidation, Rules
from reconciler.core.input_index import InputIndex, follow_inputs, index_inputs
from reconciler.core.last_known_good import LastKnownGood, last_known_good
from reconciler.core.past_versions import with_past
from reconciler.core.record import LastPass, last_pass
from reconciler.core.state import StateTree, blocks_of, follow_state, read_state
from reconciler.core.step import FileTree, Step
from reconciler.core.world_composition import compose, configuration_of
from reconciler.delivery.destinations import roots_of
from reconciler.delivery.record import recorded
from reconciler.delivery.settings import Destination, decode_delivery
from reconciler.errors import ShellError, UsageError
from reconciler.manifests.paths import ALONE, RECORD, output_path
from reconciler.manifests.schema import Schemas
from reconciler.manifests.scope import CRD
from reconciler.model.settings import CONFIGURATION_PATH, Settings, decode_settings
from reconciler.model.world import World
from reconciler.shell.delivered_files import DeliveredFiles
from reconciler.shell.document_cache import INPUTS, OUTPUTS, DocumentCache
from reconciler.shell.git.errors import GitError
from reconciler.shell.listings import Listing, Listings
from reconciler.shell.tree_cache import Below, Inputs, Track, TreeCache, untracked
from reconciler.shell.trees import Trees
from reconciler.shell.validators import FileValidators, file_validators


class Loader:
    """Loads the worlds of one repository; what it remembers only saves work."""

    def __init__(
        self,
        trees: Trees,
        schemas: Schemas,
        *,
        output_root: str,
        track: Track = untracked,
        processes: int = 1,
        documents: DocumentCache | None = None,
        past: bool = False,
    ) -> None:
        """Remember where to read and what is ours there.

        Up to so many processes read where there are thousands of files; `documents` are those that
        were parsed before, `None` for none. With `past` the versions that clusters are held on are
        read even where nothing is delivered.
        """
        self._output_root = output_root
        self._reads_past = past
        self._processes = processes
        self._rules = {
            INPUTS: Rules(schemas, ADMISSIONS, KINDS),
            OUTPUTS: Rules(schemas, {}, KINDS, status_only=True),
        }
        self._listings = Listings(trees, output_root)
        self._documents = documents
        self._inputs, self._outputs = (
            TreeCache(trees, self._listings, name, track=track, documents=documents)
            for name in (INPUTS, OUTPUTS)
        )
        self._surveyed: InputIndex | None = None
        self._state: StateTree | None = None
        self._delivered = DeliveredFiles()
        self._delivers: tuple[Destination, ...] = ()
        self._last: tuple[tuple[str, str | None], World] | None = None

    def load(self, revision: str, *, outputs: str | None = None) -> World:
        """Return the world at a commit.

        Args:
            revision: Full hex id of the commit or tree that has the inputs.
            outputs: Full hex id of the one that has the outputs; `None` means the same.

        Returns:
            The very same world if the one before was asked for; documents that did not change are
            the very same ones.

        Raises:
            GitError: The commit cannot be read.
            ShellError: The last good version of a faulty file is not in this repository.
            UsageError: The output root is a folder of people's manifests.
        """
        asked = (revision, outputs)
        if self._last is None or self._last[0] != asked:
            total = 0 if self._last is not None else self._unparsed(revision)
            try:
                with file_validators(self._rules, total, processes=self._processes) as by:
                    self._last = (asked, self._load(revision, outputs or revision, by))
            except BaseException:
                self._state = self._surveyed = None  # they may lag behind their files
                raise
        return self._last[1]

    def keep_documents(self, *, pieces: int) -> bool:
        """Write so many pieces of what was parsed, and return whether more is left."""
        return self._documents is not None and self._documents.save(pieces=pieces)

    def _unparsed(self, revision: str) -> int:
        """Return about how many files of a commit were not parsed before."""
        entries = self._listings.entries(revision)
        if self._documents is None:
            return len(entries)
        sides: dict[str, list[tuple[str, str]]] = {INPUTS: [], OUTPUTS: []}
        is_output = Below(self._output_root)
        for path, entry in entries.items():
            sides[OUTPUTS if is_output(path) else INPUTS].append((path, entry.blob))
        return sum(self._documents.unknown(*side) for side in sides.items())

    def _load(self, revision: str, outputs: str, by: FileValidators) -> World:
        """Read what changed since the world before, and compose this one."""
        state = self._follow_state(outputs, by)
        self._delivers = recorded(state.manifests)
        last = last_pass(state.manifests)
        used: set[tuple[str, str]] = set()
        settings = self._settings(revision, last, used)
        index = self._follow_survey(revision, settings, by)
        good = self._good(index, revision, last, settings, used)
        if any((key.group, key.kind) == CRD for key in good.manifests):
            index = index_inputs(self._inputs.files, KINDS, good.manifests.values())
            good = self._good(index, revision, last, settings, used)
        world = compose(
            index,
            good,
            state,
            revision=revision,
            output_root=self._output_root,
            delivered=self._delivered_files(outputs, settings),
            last=None if self._last is None else self._last[1],
        )
        if self._reads_past or self._delivers or decode_delivery(settings).destinations:
            world = with_past(world, index.scopes, partial(self._past, used))
        self._inputs.keep(used)
        self._outputs.keep(())
        return world

    def _past(self, used: set[tuple[str, str]], path: str, blob: str) -> FileValidation | None:
        """Return what an earlier version of a file holds, `None` if it is not there any more."""
        try:
            found = self.version(path, blob)
        except GitError:
            return None
        used.add((path, blob))
        return found

    def _follow_state(self, revision: str, by: FileValidators) -> StateTree:
        """Read the files below the output root."""
        move = self._outputs.follow(revision, Below(self._output_root), by)
        listing = self._listings.listing(revision)
        blocks = blocks_of(listing.links | listing.others, self._output_root, KINDS)
        if self._state is None:
            self._state = read_state(move.files.values(), self._output_root, KINDS, blocks)
        else:
            self._state = follow_state(self._state, move, self._output_root, KINDS, blocks)
        _check_ours(self._state, self._output_root)
        return self._state

    def _follow_survey(self, revision: str, settings: Settings, by: FileValidators) -> InputIndex:
        """Read the files of people."""
        move = self._inputs.follow(revision, self._inputs_of(settings), by)
        if self._surveyed is None:
            self._surveyed = index_inputs(move.files.values(), KINDS)
        else:
            self._surveyed = follow_inputs(self._surveyed, move)
        return self._surveyed

    def _inputs_of(self, settings: Settings) -> Inputs:
        """Return the choice of the files that people write: not those of delivery."""
        delivery = tuple(f"/{root}/**" for root in roots_of(self._delivers))
        return Inputs(self._output_root, settings.include, (*settings.exclude, *delivery))

    def _delivered_files(self, revision: str, settings: Settings) -> Mapping[str, str]:
        """Return the files below the folders that delivery has, had, or is to have."""
        wanted = decode_delivery(settings).on("").destinations
        roots = frozenset(roots_of((*self._delivers, *wanted))) - {""}
        return self._delivered.follow(self._listings.entries(revision), roots)

    def _settings(
        self, revision: str, last: LastPass | None, used: set[tuple[str, str]]
    ) -> Settings:
        """Read the configuration first, since it says which files are read."""
        entry = self._listings.entries(revision).get(CONFIGURATION_PATH)
        found = [] if entry is None else [self.version(CONFIGURATION_PATH, entry.blob)]
        used.update((CONFIGURATION_PATH, file.blob) for file in found)
        index = index_inputs(found, KINDS)
        step = self._step(index, revision, last, CONFIGURATION_PATH.__eq__, used)
        return decode_settings(configuration_of(index, last_known_good(index, step)))

    def _good(
        self,
        index: InputIndex,
        revision: str,
        last: LastPass | None,
        settings: Settings,
        used: set[tuple[str, str]],
    ) -> LastKnownGood:
        """Return what stands in for the files that cannot be understood."""
        step = self._step(index, revision, last, self._inputs_of(settings), used)
        return last_known_good(index, step, allow=settings.safety.allow)

    def _step(
        self,
        index: InputIndex,
        revision: str,
        last: LastPass | None,
        covers: Callable[[str], bool],
        used: set[tuple[str, str]],
    ) -> Step | None:
        """Return the step from the last pass with the versions it needs; `None` if none matters.

        Raises:
            ShellError: A file is faulty and its last good version is not in this repository.
        """
        now = self._listings.listing(revision)
        doubts = index.broken or index.partial or now.links
        if last is None or not (doubts or last.held):
            return None
        recorded = {} if self._state is None else self._state.manifests
        try:
            then = self._listings.listing(last.revision)
            step = Step(
                index=index,
                now=_tree(now),
                then=_tree(then),
                last=last,
                covers=covers,
                recorded=recorded,
            )
            needed = step.versions_needed()
            used.update(needed)
            return step.with_versions({pair: self.version(*pair) for pair in sorted(needed)})
        except GitError as error:
            if not index.broken and not last.held:
                return None  # a clone without history; nothing is known to be faulty
            path = next(iter(index.broken), "") or last.held[0].path
            raise ShellError(
                f"{path} is faulty, and its last good version (commit {last.revision[:12]}) is not "
                "in this repository; mend the file, or fetch the history"
            ) from error

    def version(self, path: str, blob: str) -> FileValidation:
        """Return what a version of an input file holds."""
        return self._inputs.version(path, blob, FileValidators(self._rules))


def _tree(listing: Listing) -> FileTree:
    """Return the files and links of a commit as the core knows them."""
    return FileTree({path: entry.blob for path, entry in listing.files.items()}, listing.links)


def _check_ours(state: StateTree, root: str) -> None:
    """Refuse an output root that was never ours: what a pass did not write there, it deletes."""
    if RECORD in state.manifests:
        return
    ours = {manifest.origin.path for manifest in state.manifests.values()}
    ours |= {output_path(root, key) for key in ALONE}
    strange = sorted(path for path in state.present.keys() - ours if path not in state.frozen)
    if strange:
        raise UsageError(
            f'the output root "{root}" holds "{strange[0]}", which no pass wrote, and would be '
            "deleted; move the file, or name another folder with --output-root"
        )
