"""What stands in for files that cannot be understood: their last good versions, out of history.

Which input files differ from those of the last pass is followed from commit to commit. Of earlier
versions those are parsed that may matter to causes, or to the brake on what edits take.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from operator import attrgetter
from types import MappingProxyType

from reconciler.core.dialects import KINDS, READ_AS_BEFORE
from reconciler.core.inputs.admissions import UPDATES
from reconciler.core.inputs.index import InputIndex, index_inputs
from reconciler.core.inputs.last_known_good import (
    LastKnownGood,
    inputs_before,
    last_known_good,
)
from reconciler.core.inputs.validation import FileValidation
from reconciler.core.own_outputs import own_outputs
from reconciler.core.record import LastPass
from reconciler.core.restored import (
    asked_since,
    asks,
    outputs_about,
    refused_in,
    unknown_commit,
)
from reconciler.core.step import Step
from reconciler.errors import ShellError
from reconciler.manifests.identity import CRD
from reconciler.manifests.paths import is_manifest_name
from reconciler.manifests.text.raw import Oversized
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, replace
from reconciler.model.remembered import differing_keys
from reconciler.model.text import short_id
from reconciler.model.world import Fault, FormerOutputs, FormerVersion, Manifest, World
from reconciler.shell.git.command import GitError
from reconciler.shell.git.objects import TreeEntry
from reconciler.shell.git.repository import COMMIT_ID
from reconciler.shell.reading.tree_cache import TreeCache
from reconciler.shell.reading.trees import Listings, Trees, paired


@dataclass(frozen=True, slots=True)
class GoodVersions:
    """Where earlier versions of files are found.

    Attributes:
        listings: Which files a commit has.
        version: Returns what a version of a file holds, by path and blob.
    """

    listings: Listings
    version: Callable[[str, str], FileValidation]

    def find(
        self,
        index: InputIndex,
        revision: str,
        *,
        last: LastPass | None,
        covers: Callable[[str], bool],
        recorded: Container[ObjectKey],
        used: set[tuple[str, str]],
        allow: Container[str] = (),
        edited: Mapping[str, frozenset[Kind] | None] = MappingProxyType({}),
        unread: Callable[[Mapping[Kind, bool]], frozenset[ObjectKey]] | None = None,
    ) -> LastKnownGood:
        """Return what stands in for the files that cannot be understood.

        Args:
            index: What the files hold.
            revision: Full hex id of the commit that has them.
            last: The last pass, whose files were good; `None` if there was none.
            covers: Tells of a path whether its file is read.
            recorded: The outputs.
            used: Gets the path and blob of each version that is read.
            allow: The digests of what a person lets through.
            edited: The files that differ since the last pass, with the kinds of what they hold.
            unread: Returns the keys that stand in files beside those of the index, by scopes;
                `None` if there are none.

        Raises:
            ShellError: A file is faulty and its last good version is not in this repository.
        """
        now = self.listings.listing(revision)
        judged = any(kinds and kinds & UPDATES.keys() for kinds in edited.values())
        doubts = index.broken or index.partial or now.links or judged
        if last is None or not (doubts or last.held):
            return last_known_good(index, None, allow=allow)
        if unread is not None:
            index = replace(index, unread=unread(index.scopes))
        try:
            then = self.listings.listing(
                paired(last.revision, last.reported_at) if last.reported_at else last.revision
            )
            step = Step(
                index=index,
                now=now.tree,
                then=then.tree,
                last=last,
                covers=covers,
                recorded=recorded,
                edited=edited,
                updates=UPDATES,
            )
            needed = step.versions_needed()
            used.update(needed)
            good = step.with_versions({pair: self.version(*pair) for pair in sorted(needed)})
        except GitError as error:
            if not index.broken and not last.held:  # a clone without history; none known as faulty
                return last_known_good(index, None, allow=allow)
            path = next(iter(index.broken), "") or last.held[0].path
            raise ShellError(
                f"{path} is faulty, and its last good version (commit "
                f"{short_id(last.revision)}) is not in this repository; mend the file, or fetch "
                "the history"
            ) from error
        return last_known_good(index, good, allow=allow)


def with_scopes(
    index: InputIndex, files: Iterable[FileValidation], find: Callable[[InputIndex], LastKnownGood]
) -> tuple[InputIndex, LastKnownGood]:
    """Return the inputs with their last good versions, of which a CRD still says its scope."""
    good = find(index)
    if any((key.group, key.kind) == CRD for key in good.manifests):
        index = index_inputs(files, KINDS, good.manifests.values(), allowed=index.allowed)
        good = find(index)
    return index, good


Covers = Callable[[str], bool]
"""Tells of a path whether its file is read; the same choice of files is equal."""

Before = dict[str, TreeEntry | None]
"""Path to what stood there at the last pass, `None` for nothing."""


class EditedInputs:
    """The files that differ since one pass; what a pass wrote itself is gone through once."""

    def __init__(self, trees: Trees, listings: Listings, layout: RepositoryLayout) -> None:
        self._trees, self._listings, self._layout = trees, listings, layout
        self._followed: tuple[str, str, Covers, Before] | None = None

    def find(self, last: LastPass | None, inputs: str, covers: Covers) -> Before:
        """Return the files that differ as they were, none where those of the last pass are lost.

        Args:
            last: The last pass that committed, `None` if there was none.
            inputs: The commit with the inputs now, with the one of the reports if there is one.
            covers: Tells of a path whether its file is read.
        """
        if last is None:
            return {}
        revision = paired(last.revision, last.reported_at) if last.reported_at else last.revision
        try:
            before = self._before(revision, inputs, covers)
        except GitError:
            return {}
        self._followed = revision, inputs, covers, before
        now = self._listings.entries(inputs)
        return {path: entry for path, entry in before.items() if now.get(path) != entry}

    def _before(self, last: str, inputs: str, covers: Covers) -> Before:
        """Return what the files held that changed since, some of which may be as they were."""
        followed = self._followed
        if followed is not None and (followed[0], followed[2]) == (last, covers):
            _, at, _, earlier = followed
            if at == inputs:
                return earlier
            then = self._listings.entries(at)
            came = {path: then.get(path) for path in self._listings.differing(at, inputs)}
            return {**_read(came, covers), **earlier}
        if last == inputs:
            return {}
        if self._listings.knows(last):
            then, now = self._listings.entries(last), self._listings.entries(inputs)
            return _read({path: then.get(path) for path in differing_keys(now, then)}, covers)
        changes = self._trees.changed(last, inputs, but=self._layout.output_root)
        return _read({change.path: change.before for change in changes}, covers)


def _read(found: Before, covers: Covers) -> Before:
    return {path: e for path, e in found.items() if is_manifest_name(path) and covers(path)}


@dataclass(frozen=True, slots=True)
class Restorations:
    """Finds the objects that are to go on from the outputs of an earlier commit.

    Attributes:
        trees: Where commits are.
        version: Returns what a version of an input file holds, by path and blob.
        output: Returns the output that a version of a file holds, by path and blob.
        root: The output root.
    """

    trees: Trees
    version: Callable[[str, str], FileValidation]
    output: Callable[[str, str], Manifest | None]
    root: str

    def find(
        self,
        inputs: Mapping[ObjectKey, Manifest],
        edited: Before,
        files: TreeCache,
        scopes: Mapping[Kind, bool],
        outputs: str,
        recorded: Iterable[Fault],
    ) -> tuple[tuple[FormerOutputs, ...], tuple[Fault, ...]]:
        """Return what is asked for since the last pass, and what is wrong with that.

        Args:
            inputs: What is in force now.
            edited: The files that differ from the last pass, as they were.
            files: The files as they are.
            scopes: Whether kinds are namespaced.
            outputs: Full hex id of the commit with the outputs.
            recorded: The faults of the last pass: what was refused is still asked for.
        """
        restored: list[FormerOutputs] = []
        faults: list[Fault] = []
        refused = refused_in(recorded)
        for path in sorted({*edited, *(path for path, _ in refused)}):
            file, entry = files.at(path), edited.get(path)
            if not asks(file):
                continue  # the version of before may not even be in this repository
            then = file if path not in edited else None
            then = self.version(path, entry.blob) if entry and entry.is_file else then
            for about, owner, commit in asked_since(file, then, scopes, refused):
                if about not in inputs:
                    continue
                if COMMIT_ID.fullmatch(commit) and self.trees.leads_to(commit, outputs):
                    had = tuple(self._outputs(owner, commit))
                    restored.append(FormerOutputs(about, owner, commit, had))
                else:
                    faults.append(unknown_commit(inputs[about]))
        return tuple(sorted(restored, key=attrgetter("about"))), tuple(faults)

    def _outputs(self, owner: ObjectKey, commit: str) -> Iterator[Manifest]:
        """Yield the outputs of an object at a commit."""
        chosen = own_outputs(owner, self.root)
        entries = self.trees.files(commit).items()
        there = [(path, one.blob) for path, one in entries if one.is_file and chosen(path)]
        read = (self.output(*pair) for pair in there)
        yield from outputs_about(owner, (one for one in read if one is not None))


Version = tuple[str, str]
"""Path and blob id."""

GROUPS = tuple(sorted({group.encode() for group, _ in READ_AS_BEFORE}))


class EarlierFiles:
    """Versions that were asked for lately; of other kinds of objects nothing is kept."""

    def __init__(
        self, trees: Trees, files: TreeCache, version: Callable[[str, str], FileValidation]
    ) -> None:
        self._trees, self._files, self._version = trees, files, version
        self._known: dict[Version, FileValidation | None] = {}

    def find(
        self,
        world: World,
        edited: Before,
        last: LastPass | None,
        scopes: Mapping[Kind, bool],
    ) -> tuple[Mapping[ObjectKey, Manifest | None], Mapping[ObjectKey, FormerVersion]]:
        """Return what differs from the last pass as it was: `World.earlier` and `World.former`.

        Args:
            world: What is in force now.
            edited: The files that differ, as they were.
            last: The last pass that committed, `None` if there was none.
            scopes: Whether kinds are namespaced.

        Returns:
            Nothing where a version is not in this repository: then less is known of causes, and
            no edit is braked.

        Raises:
            ShellError: It lacks a version by which placements are kept.
        """
        if last is None or not (edited or last.held or last.kept):
            self._known = {}
            return {}, {}
        wanted = {(path, entry.blob) for path, entry in edited.items() if entry and entry.is_file}
        wanted |= {(held.path, held.blob) for held in last.held}
        wanted |= {(kept.path, kept.blob) for kept in last.kept if kept.blob}
        try:
            self._known = self._read(sorted(wanted))
        except GitError as error:
            self._known = {}
            if last.kept:
                raise ShellError(
                    f"placements are kept by {last.kept[0].path} as it was before an edit, and "
                    "that version is not in this repository; fetch the history"
                ) from error
            return {}, {}
        now = map(self._files.at, {*edited, *(held.path for held in last.held)})
        then = tuple(filter(None, self._known.values()))
        return inputs_before(world, tuple(filter(None, now)), then, last, scopes)

    def _read(self, wanted: Collection[Version]) -> dict[Version, FileValidation | None]:
        """Return what versions hold, `None` for one that holds nothing of the sort."""
        remembered = {pair: self._known[pair] for pair in wanted if pair in self._known}
        parsed = {pair: self._files.parsed(*pair) for pair in wanted if pair not in remembered}
        unknown = [pair for pair, file in parsed.items() if file is None]
        parsed |= {pair: self._version(*pair) for pair in self._promising(unknown)}
        matters = {
            pair: file if file is not None and file.kinds & READ_AS_BEFORE else None
            for pair, file in parsed.items()
        }
        return {**remembered, **matters}

    def _promising(self, wanted: Collection[Version]) -> Iterator[Version]:
        """Yield the versions that mention a group of theirs, which takes no parser to see.

        Of one in UTF-16 the parser tells.
        """
        contents = self._trees.blobs(blob for _, blob in wanted) if wanted else ()
        for pair, (_, data) in list(zip(wanted, contents, strict=True)):
            if isinstance(data, Oversized):
                continue
            if b"\0" in data or any(group in data for group in GROUPS):
                yield pair
