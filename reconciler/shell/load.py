"""From a commit to a World: which files there are, what they hold, and what held before.

Inspections are remembered by path and blob id, so a warm load costs what changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from reconciler.core.admissions import ADMISSIONS
from reconciler.core.inspect import Inspection, Rules
from reconciler.core.intake import Earlier, compose, configuration_of, earlier_versions
from reconciler.core.record import LastPass, last_pass
from reconciler.core.state import State, read_state
from reconciler.core.survey import CONFIGURATION_PATH, DELETABLE, survey
from reconciler.errors import ShellError, UsageError
from reconciler.manifests.paths import FAULTS, RECORD, output_path
from reconciler.manifests.schema import Schemas
from reconciler.manifests.selection import SUFFIXES, selects
from reconciler.model.settings import Settings, decode_settings
from reconciler.model.world import World
from reconciler.shell.git.errors import GitError
from reconciler.shell.git.objects import Entry, list_files, read_blobs
from reconciler.shell.git.repository import Repository
from reconciler.shell.inspections import Inspectors, inspectors

INPUTS, OUTPUTS = "inputs", "outputs"

T = TypeVar("T")


class Track(Protocol):
    """Passes items on while they are worked through, such as to show how far it is."""

    def __call__(self, items: Iterable[T], total: int, /) -> Iterable[T]:
        """Return the same items."""


def untracked(items: Iterable[T], total: int, /) -> Iterable[T]:
    """Show nothing."""
    del total
    return items


class Loader:
    """Loads the worlds of one repository; what it remembers only saves work."""

    def __init__(
        self,
        repository: Repository,
        schemas: Schemas,
        *,
        output_root: str,
        track: Track = untracked,
        processes: int = 1,
    ) -> None:
        """Remember where to read (the repository's prefix is the root) and what is ours there.

        Up to so many processes read where there are thousands of files.
        """
        self._repository = repository
        self._output_root = output_root
        self._processes = processes
        self._rules = {
            INPUTS: Rules(schemas, ADMISSIONS),
            OUTPUTS: Rules(schemas, {}, status_only=True),
        }
        self._inputs = _Shelf(repository, INPUTS, track)
        self._outputs = _Shelf(repository, OUTPUTS, track)
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
            entries = self._entries(revision)
            ours = entries if outputs is None else self._entries(outputs)
            total = len(entries) + len(ours) * (ours is not entries) if self._last is None else 0
            with inspectors(self._rules, total, processes=self._processes) as by:
                self._last = (asked, self._load(revision, entries, ours, by))
        return self._last[1]

    def _load(
        self, revision: str, entries: Mapping[str, Entry], ours: Mapping[str, Entry], by: Inspectors
    ) -> World:
        """Read what changed since the world before, and compose this one."""
        root = f"{self._output_root}/"
        written = self._outputs.inspect(
            {path: entry for path, entry in ours.items() if path.startswith(root)}, by
        )
        state = read_state(written, self._output_root)
        _check_ours(state, self._output_root)
        earlier = _History(self, last_pass(state.manifests))
        settings = self._settings(entries, earlier, by)
        inputs = self._inputs.inspect(
            {path: entry for path, entry in entries.items() if self._is_input(path, settings)}, by
        )
        surveyed = survey(inputs)
        world = compose(
            surveyed,
            {path: earlier.versions(path) for path in surveyed.broken},
            state,
            revision=revision,
            output_root=self._output_root,
            texts=_texts(inputs),
        )
        self._outputs.keep((file.path, file.blob) for file in written)
        self._inputs.keep({(file.path, file.blob) for file in inputs} | earlier.used)
        return world

    def _entries(self, revision: str) -> dict[str, Entry]:
        """Return the plain files of a commit below the root; links are never followed."""
        listed = list_files(self._repository, revision, prefix=self._repository.prefix)
        return {
            path: entry
            for path, entry in listed.items()
            if entry.is_file and path.endswith(SUFFIXES) and path.isprintable()
        }

    def _settings(
        self, entries: Mapping[str, Entry], earlier: "_History", by: Inspectors
    ) -> Settings:
        """Read the configuration first, since it says which files are read."""
        entry = entries.get(CONFIGURATION_PATH)
        if entry is None:
            return Settings()
        surveyed = survey(self._inputs.inspect({CONFIGURATION_PATH: entry}, by))
        versions = earlier.versions(CONFIGURATION_PATH) if surveyed.broken else ()
        return decode_settings(configuration_of(surveyed, versions))

    def _is_input(self, path: str, settings: Settings) -> bool:
        """Say whether a file is read as people's input."""
        if path == CONFIGURATION_PATH:
            return True
        return not path.startswith(f"{self._output_root}/") and selects(
            path, include=settings.include, exclude=settings.exclude
        )

    def files_at(self, revision: str) -> dict[str, Entry]:
        """Return the files of an earlier commit."""
        return self._entries(revision)

    def version(self, path: str, blob: str) -> Inspection:
        """Return what a version of an input file holds."""
        return self._inputs.inspect_blob(path, blob, Inspectors(self._rules))


class _Shelf:
    """Inspections of one tree by path and blob id, by the rules of a name."""

    def __init__(self, repository: Repository, name: str, track: Track) -> None:
        self._repository = repository
        self._name = name
        self._track = track
        self._known: dict[tuple[str, str], Inspection] = {}

    def inspect(self, entries: Mapping[str, Entry], by: Inspectors) -> list[Inspection]:
        """Inspect files, from memory where their content is known."""
        pairs = [(path, entry.blob) for path, entry in entries.items()]
        self._read([pair for pair in pairs if pair not in self._known], by)
        return [self._known[pair] for pair in pairs]

    def inspect_blob(self, path: str, blob: str, by: Inspectors) -> Inspection:
        """Inspect one version of a file."""
        if (path, blob) not in self._known:
            self._read([(path, blob)], by)
        return self._known[path, blob]

    def keep(self, needed: Iterable[tuple[str, str]]) -> None:
        """Forget everything else."""
        for pair in self._known.keys() - set(needed):
            del self._known[pair]

    def _read(self, pairs: list[tuple[str, str]], by: Inspectors) -> None:
        """Read and inspect what is not known."""
        contents = read_blobs(self._repository, [blob for _, blob in pairs])
        files = ((*pair, content) for pair, (_, content) in zip(pairs, contents, strict=True))
        for inspection in self._track(by.inspect(files, len(pairs), self._name), len(pairs)):
            self._known[inspection.path, inspection.blob] = inspection


@dataclass(slots=True)
class _History:
    """The earlier versions of faulty files, read when asked for."""

    loader: Loader
    last: LastPass | None
    used: set[tuple[str, str]] = field(default_factory=set)
    _files: dict[str, Entry] | None = None

    def versions(self, path: str) -> tuple[Earlier, ...]:
        """Return the versions of a file that may stand in for it, the preferred one first."""
        last = self.last
        if last is None:
            return ()
        try:
            if self._files is None:
                self._files = self.loader.files_at(last.revision)
            entry = self._files.get(path)
            recorded = None if entry is None else self._version(path, entry.blob)
            blobs = {held.blob for held in last.held if held.path == path}
            held = {blob: self._version(path, blob) for blob in blobs}
        except GitError as error:
            raise ShellError(
                f"{path} is faulty, and its last good version (commit {last.revision[:12]}) is not "
                "in this repository; mend the file, or fetch the history"
            ) from error
        return earlier_versions(path, last, recorded, held)

    def _version(self, path: str, blob: str) -> Inspection:
        """Read one version, and remember that it is needed."""
        self.used.add((path, blob))
        return self.loader.version(path, blob)


def _check_ours(state: State, root: str) -> None:
    """Refuse an output root that was never ours: what a pass did not write there, it deletes."""
    if RECORD in state.manifests:
        return
    ours = {manifest.origin.path for manifest in state.manifests.values()}
    ours |= {output_path(root, key) for key in (RECORD, FAULTS)}
    strange = sorted(state.present.keys() - ours - state.frozen)
    if strange:
        raise UsageError(
            f'the output root "{root}" holds "{strange[0]}", which no pass wrote, and would be '
            "deleted; move the file, or name another folder with --output-root"
        )


def _texts(inspections: Iterable[Inspection]) -> dict[str, bytes]:
    """Return the content of the files that hold what a pass may remove."""
    return {
        file.path: file.data
        for file in inspections
        if any((d.identity.group, d.identity.kind) in DELETABLE for d in file.documents)
    }
