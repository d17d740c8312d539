"""What delivery remembers from pass to pass: which files there should be, and whose they are.

No answer depends on it. It holds no text: only paths, and the git blob ids of what stands there.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.delivery.definitions import CustomObjects, DefinitionTable
from reconciler.delivery.owned_files import FileOwner, OwnedFiles
from reconciler.delivery.settings import Destination, Folder
from reconciler.dialects.read_index import ReadIndex
from reconciler.dialects.renderer import Renderers, Wraps
from reconciler.model.identity import ClusterName
from reconciler.model.keyed_cache import AnswerCache
from reconciler.model.settings import Settings
from reconciler.model.world import World

NO_CUSTOM = CustomObjects()


@dataclass(slots=True, eq=False)
class DeliveryMemory:
    """The files of each decision, and for each file the decisions that claim it.

    Attributes:
        renderers: What renders, by the name of its API.
        wraps: How objects of one API carry what any decides.
        owned: The files of each decision.
        reads: By API what each decision asked when it was rendered.
        fleet: The clusters of all APIs.
        kustomized: The folders that have a kustomization.yaml whether or not files are in them.
        kustomized_for: The destinations and clusters that these are of.
        claims: The decisions that claim a file, sorted; the first one has it.
        shared: The files that several claim.
        leaving: The decisions that leave a file where it stands and write it where none does,
            sorted; the first one has it.
        merged: Those of them in which all have one object, with the blob id of that.
        renamed: The files whose objects overrides gave another identity, by where an object of that
            identity would stand by itself.
        world: As it was rendered last, `None` before.
        settings: Under which.
        present: Path to blob id of the files that stood there then.
        left: Those of them that nobody claims, but for what kustomize reads.
        lacking: Files that should stand there and do not, or not as they are.
        stirred: Folders whose kustomization.yaml may not be as it should be.
        folders: The files of each cluster's folder, as they stood there.
        kustomizations: The files that stood there and that kustomize reads.
        keeping: Decisions that leave files where they are.
        unread: Decisions that cannot be read.
        known: Decisions that are written only where their files are.
        outliving: Decisions whose files stay once they are gone.
        telling: Decisions of which something is to be told.
        definitions: Custom kinds that clusters get.
    """

    renderers: Mapping[str, Renderers]
    wraps: Wraps
    owned: dict[FileOwner, OwnedFiles] = field(default_factory=dict)
    reads: defaultdict[str, ReadIndex[FileOwner]] = field(
        default_factory=lambda: defaultdict(ReadIndex)
    )
    fleet: AnswerCache[None, frozenset[ClusterName]] = field(default_factory=AnswerCache)
    kustomized: frozenset[Folder] = frozenset()
    kustomized_for: tuple[Collection[Destination], frozenset[ClusterName]] | None = None
    claims: dict[str, tuple[FileOwner, ...]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    leaving: dict[str, tuple[FileOwner, ...]] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, frozenset[str]] = field(default_factory=dict)
    world: World | None = None
    settings: Settings | None = None
    present: Mapping[str, str] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    lacking: set[str] = field(default_factory=set)
    stirred: set[Folder] = field(default_factory=set)
    folders: dict[Folder, set[str]] = field(default_factory=lambda: defaultdict(set))
    kustomizations: set[str] = field(default_factory=set)
    keeping: set[FileOwner] = field(default_factory=set)
    unread: set[FileOwner] = field(default_factory=set)
    known: set[FileOwner] = field(default_factory=set)
    outliving: set[FileOwner] = field(default_factory=set)
    telling: set[FileOwner] = field(default_factory=set)
    definitions: DefinitionTable = field(default_factory=DefinitionTable)

    def forget_files(self) -> None:
        """Forget which files stood there, since it is another question whose they are."""
        self.present, self.kustomized_for = {}, None
        for table in (self.left, self.lacking, self.stirred, self.folders, self.kustomizations):
            table.clear()

    def put(self, owner: FileOwner, files: OwnedFiles | None) -> set[str]:
        """Replace the files of a decision, and return the paths that it has or had."""
        before = self.owned.pop(owner, None)
        old = frozenset[str]() if before is None else before.blobs.keys()
        new = frozenset[str]() if files is None else files.blobs.keys()
        self.definitions.put(
            NO_CUSTOM if before is None else before.custom,
            NO_CUSTOM if files is None else files.custom,
        )
        for table in (self.keeping, self.known, self.outliving, self.telling):
            table.discard(owner)
        if files is not None:
            self.owned[owner] = files
            for table, concerned in (
                (self.keeping, files.kept),
                (self.known, files.known),
                (self.outliving, files.outliving),
                (self.telling, files.faults or files.warnings or files.not_carried),
            ):
                if concerned:
                    table.add(owner)
        self._rename({} if before is None else before.renamed, frozenset.difference)
        self._rename({} if files is None else files.renamed, frozenset.union)
        past = frozenset[str]() if before is None else before.leaving.keys()
        now = frozenset[str]() if files is None else files.leaving.keys()
        for path in past | now:
            owners = {*self.leaving.pop(path, ())} - {owner} | ({owner} if path in now else set())
            if owners:
                self.leaving[path] = tuple(sorted(owners))
        for path in old - new:
            self._claimed(path, [one for one in self.claims[path] if one != owner])
        alone = (owner,)  # one for all files, since nearly all are claimed once
        for path in new - old:
            others = self.claims.setdefault(path, alone)
            if others is not alone:
                self._claimed(path, sorted((*others, owner)))
        return {*old, *new, *past, *now}

    def _rename(
        self,
        renamed: Mapping[str, str],
        change: Callable[[frozenset[str], frozenset[str]], frozenset[str]],
    ) -> None:
        """Add renamed files, or take them away."""
        for path, place in renamed.items():
            paths = change(self.renamed.pop(place, frozenset()), frozenset({path}))
            if paths:
                self.renamed[place] = paths

    def identity_of(self, path: str) -> str:
        """Return where the object of a claimed file would stand by itself."""
        return self.owned[self.claims[path][0]].renamed.get(path, path)

    def _claimed(self, path: str, owners: Iterable[FileOwner]) -> None:
        claims = tuple(owners)
        if claims:
            self.claims[path] = claims
        else:
            del self.claims[path]
        (self.shared.add if len(claims) > 1 else self.shared.discard)(path)

    def is_contested(self, path: str) -> bool:
        """Return whether several decisions put something different into a file."""
        if path not in self.shared:
            return False
        first, *others = (self.owned[one].blobs[path] for one in self.claims[path])
        return any(one != first for one in others)

    def compare(self, paths: Collection[str]) -> None:
        """Find out which of some files nobody claims, and which are not as they should be."""
        self.left.difference_update(paths)
        self.lacking.difference_update(paths)
        for path in paths:
            wanted, there = self.blob(path), self.present.get(path)
            if wanted is None and there is not None:
                self.left.add(path)
            elif wanted != there or (there is None and path in self.leaving):
                self.lacking.add(path)

    def writer(self, path: str) -> FileOwner:
        """Return the decision that writes a file."""
        return (self.claims.get(path) or self.leaving[path])[0]

    def blob(self, path: str) -> str | None:
        """Return the blob id that should stand at a path, `None` if nothing should."""
        if path in self.merged:
            return self.merged[path]
        claims = self.claims.get(path)
        return self.owned[claims[0]].blobs[path] if claims else None
