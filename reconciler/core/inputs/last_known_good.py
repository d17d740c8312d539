"""Last known good: the earlier documents that stand in for what is unreadable or refused now.

The last good version of an object belongs to its identity as well as to its path. A path that held
objects holds them until it parses again. And if in one step a file became unreadable while the file
of an object vanished, that object stays, too: what looks like a removal may be a rename with a slip
of the pen. Removed is what a person removed plainly: a deleted file, a document taken out of a file
that parses, a file of blanks and comments only, or one that is not covered any more.

Source: ours; an API server keeps the last object that it accepted.

An edit that an API server would refuse leaves the version in force, too. An edit is what became of
an object since the last committing pass, wherever its file is by now. An object whose earlier
version that pass did not read is new.

Source: ours; upstream's webhooks are given the old object beside the new one.

Two more readers look back: one at what policies, clusters, scores, placements and the like were at
the last pass, for the causes of decisions and for the brake (what cannot be had is left out), and
one for the versions of objects that clusters still have although their files changed.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from reconciler.core.cluster_reports import ReportsBefore
from reconciler.core.dialects import DIALECTS, PLACES_BY, READ_AS_BEFORE, ROOTS, TAKEN_BACK
from reconciler.core.inputs.index import InputIndex, key_of, origin_of
from reconciler.core.inputs.validation import FileValidation
from reconciler.core.record import LastPass
from reconciler.core.step import EarlierVersion, Step
from reconciler.manifests.admission import digest
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import at, with_value, without
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import patched
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.model.text import enumerated
from reconciler.model.world import Fault, FormerVersion, HeldFile, Manifest, World
from reconciler.staging.staged_delivery import past_contents

FILE_LINK = "file-link"
FILE_UNRECOGNIZED = "file-unrecognized"
FILE_VANISHED = "file-vanished"
NAMED = 3

Broken = Mapping[str, tuple[tuple[Fault, ObjectKey | None], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastKnownGood:
    """What stands in for what cannot be understood, and every fault of the input tree.

    Attributes:
        manifests: The documents of earlier versions that are in force.
        held: Where they come from, sorted.
        faults: What a person must edit.
    """

    manifests: Mapping[ObjectKey, Manifest] = field(default_factory=dict)
    held: tuple[HeldFile, ...] = ()
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """Documents of one earlier version that stay; `named` if a broken document says who it is."""

    offer: EarlierVersion
    keys: tuple[ObjectKey, ...]
    beside: tuple[str, ...] = ()
    named: bool = False

    @property
    def path(self) -> str:
        """Path of the file."""
        return self.offer.inspection.path


def last_known_good(
    index: InputIndex, step: Step | None, *, allow: Container[str] = ()
) -> LastKnownGood:
    """Put the last good documents in the place of what cannot be understood.

    Args:
        index: What the input tree holds now.
        step: From the last committing pass to now, with its versions; `None` before the first
            pass, and where nothing is in doubt.
        allow: Digests; one of them may let go of the objects whose files vanished.
    """
    if step is None:
        return LastKnownGood(faults=tuple(_told(index.broken, index.foreign)))
    step = without_refused_edits(step)
    broken = _all_broken(step)
    unheard = frozenset(path for path in index.foreign if not _had_documents(step, path))
    kept = list(_at_their_paths(step, broken))
    gone = list(_gone(step, broken, unheard, {key for one in kept for key in one.keys}))
    unnamed = [one for one in gone if not one.named]
    let_go = digest(sorted(str(key) for one in unnamed for key in one.keys))
    if let_go in allow:
        gone = [one for one in gone if one.named]
        unnamed = []
    kept += gone
    return LastKnownGood(
        manifests={key: one.offer.manifests[key] for one in kept for key in one.keys},
        held=tuple(
            sorted(
                HeldFile(one.path, one.offer.inspection.blob, one.keys, one.beside) for one in kept
            )
        ),
        faults=(*_told(broken, unheard), *(_vanished(one, let_go) for one in unnamed)),
    )


def _told(broken: Broken, unheard: frozenset[str]) -> Iterator[Fault]:
    """Yield the faults of the files that are ours, each once."""
    reported = {
        fault for path, faults in broken.items() if path not in unheard for fault, _ in faults
    }
    yield from sorted(reported)


def _had_documents(step: Step, path: str) -> bool:
    """Return whether an earlier version of a file held manifests."""
    return any(offer.inspection.documents for offer in step.offers_at(path))


def _all_broken(step: Step) -> Broken:
    """Return the faults of the survey, and those of files that only their past shows."""
    broken = defaultdict(list, {path: list(found) for path, found in step.index.broken.items()})
    for path in sorted(step.index.partial):
        lost = _missing(step, _lost_documents(step, path))
        if lost:
            broken[path].append((_unrecognized(path, lost), None))
    links = defaultdict(list)
    for path, link in step.linked():
        links[link].append(path)
    for link, paths in links.items():
        lost_at = {path: _missing(step, step.offers_at(path)) for path in paths}
        lost = [key for found in lost_at.values() for key in found]
        for path, found in lost_at.items():
            if found:
                broken[path].append((_link(link, lost), None))
    return {path: tuple(broken[path]) for path in sorted(broken)}


def _lost_documents(step: Step, path: str) -> Iterator[EarlierVersion]:
    """Yield the versions of a file that had fewer documents that are no manifests."""
    present = step.index.partial[path]
    for offer in step.offers_at(path):
        if present.ignored > offer.inspection.ignored and not offer.beside:
            yield offer


def _missing(step: Step, offers: Iterable[EarlierVersion]) -> list[ObjectKey]:
    """Return what earlier versions of a file held that stands nowhere now, sorted."""
    offered = {key for offer in offers for key in offer.manifests}
    refused = {key for faults in step.index.broken.values() for _, key in faults}
    return sorted(offered - step.index.keys - refused)


def _at_their_paths(step: Step, broken: Broken) -> Iterator[_Kept]:
    """Yield what a broken file held before.

    If it cannot be told whose a broken document is, it may be any object that stood in the file
    and stands nowhere now.
    """
    taken = set(step.index.keys)
    for path, faults in broken.items():
        wanted = {key for _, key in faults}
        for offer in step.offers_at(path):
            asked = offer.manifests.keys() if None in wanted else offer.manifests.keys() & wanted
            keys = tuple(sorted(asked - taken))
            if keys:
                taken.update(keys)
                yield _Kept(offer=offer, keys=keys)


def _gone(
    step: Step, broken: Broken, unheard: frozenset[str], taken: set[ObjectKey]
) -> Iterator[_Kept]:
    """Yield what stood in files that are gone and may stand in files that cannot be understood."""
    paths_by_key: dict[ObjectKey, list[str]] = defaultdict(list)
    for path, faults in broken.items():
        for _, key in faults:
            if key is not None:
                paths_by_key[key].append(path)
    fresh = tuple(path for path in broken if path not in unheard and _became(step, broken, path))
    known = taken | step.index.keys
    for offer, beside in _offers_of_the_gone(step, broken, fresh):
        grouped: dict[tuple[str, ...], list[ObjectKey]] = defaultdict(list)
        for key in sorted(offer.manifests.keys() - known):
            grouped[tuple(paths_by_key.get(key, ()))].append(key)
        for named, keys in grouped.items():
            if named or beside:
                known.update(keys)
                yield _Kept(
                    offer=offer, keys=tuple(keys), beside=named or beside, named=bool(named)
                )


def _offers_of_the_gone(
    step: Step, broken: Broken, fresh: tuple[str, ...]
) -> Iterator[tuple[EarlierVersion, tuple[str, ...]]]:
    """Yield each version whose file is gone, and the files beside which it vanished, if any."""
    for path, blob in step.vanished():
        inspection = step.versions.get((path, blob))
        if inspection is not None:
            yield step.offer(inspection), fresh
    for entry in step.last.held:
        if entry.beside:
            still = tuple(path for path in entry.beside if _is_unclear(step, broken, path, entry))
            follow = any(path not in step.now.files for path in entry.beside)
            yield step.held_offer(entry), still or (fresh if follow else ())
        elif entry.path not in step.now.files and not step.now.link_at(entry.path):
            yield step.held_offer(entry), fresh


def _became(step: Step, broken: Broken, path: str) -> bool:
    """Return whether a file cannot be told apart into objects, and could at the last pass."""
    if all(key is not None for _, key in broken[path]):
        return False
    then = step.then_at(path)
    if path not in step.index.broken:  # what only its past shows
        return then is not None and bool(then.documents)
    if then is None:
        return True
    changed = step.then.files[path] != step.now.files.get(path)
    return changed and all(one.identity is not None for one in then.broken)


def _is_unclear(step: Step, broken: Broken, path: str, entry: HeldFile) -> bool:
    """Return whether a file may still be the one that an object moved to."""
    if path in broken:
        return any(key is None or key in entry.keys for _, key in broken[path])
    partial = step.index.partial.get(path)
    return partial is not None and not partial.documents


def _vanished(kept: _Kept, let_go: str) -> Fault:
    """Return what keeps objects whose file is gone."""
    files = enumerated(kept.beside, NAMED)
    is_single = len(kept.keys) == 1
    return Fault(
        path=kept.path,
        line=0,
        column=0,
        field="",
        rule=FILE_VANISHED,
        message=(
            f"the file is gone and {files} cannot be understood, so {_named(kept.keys)} "
            f"{'stays as it was' if is_single else 'stay as they were'}"
        ),
        expected=(
            f"{files} mended or deleted; or `allow: {let_go}` below `spec.safety` in "
            f"{CONFIGURATION_PATH} to let go of what vanished"
        ),
        subject=str(kept.keys[0]) if is_single else "",
        allow=let_go,
    )


def _unrecognized(path: str, lost: list[ObjectKey]) -> Fault:
    """Return what a file lacks that held objects."""
    return Fault(
        path=path,
        line=1,
        column=1,
        field="",
        rule=FILE_UNRECOGNIZED,
        message=f"the file holds something that is no manifest in the place of {_named(lost)}",
        expected="the manifest; or a file without it, or no file, to remove it",
        subject=str(lost[0]) if len(lost) == 1 else "",
    )


def _link(link: str, lost: list[ObjectKey]) -> Fault:
    """Return what stands in the place of files that held objects."""
    return Fault(
        path=link,
        line=0,
        column=0,
        field="",
        rule=FILE_LINK,
        message=(
            "a symbolic link or a submodule, which is never followed, has taken the place of "
            f"{_named(lost)}"
        ),
        expected="the manifest itself; or nothing at this path, to remove it",
        subject=str(lost[0]) if len(lost) == 1 else "",
    )


def _named(keys: Iterable[ObjectKey]) -> str:
    """Return the first objects of a list as people call them, and how many more there are."""
    return enumerated((key.plain for key in keys), NAMED)


def without_refused_edits(step: Step) -> Step:
    """Return a step in which a refused edit is a fault, like a document that is not valid.

    Args:
        step: With its versions.
    """
    refused = dict(_refused(step))
    if not refused:
        return step
    index = step.index
    broken = defaultdict(list, {path: list(faults) for path, faults in index.broken.items()})
    for key, fault in refused.items():
        broken[fault.path].append((fault, key))
    manifests = patched(index.manifests, {}, refused)
    faults = {path: tuple(broken[path]) for path in sorted(broken)}
    return replace(step, index=replace(index, manifests=manifests, broken=faults))


def _refused(step: Step) -> Iterator[tuple[ObjectKey, Fault]]:
    """Yield each object whose edit is refused, and the first thing that is wrong with it."""
    judged = sorted(_judged(step), key=lambda manifest: manifest.key)
    in_force = step.in_force() if judged else {}
    for manifest in judged:
        before = in_force.get(manifest.key)
        if before is None:
            continue
        refuse = step.updates[manifest.key.group, manifest.key.kind]
        for violation in refuse(before.body, manifest.body)[:1]:
            yield manifest.key, _fault(manifest, violation)


def _judged(step: Step) -> Iterator[Manifest]:
    """Yield the objects of which not everything may change, and that may have changed."""
    paths = step.judged_paths()
    held = {key for one in step.last.held for key in one.keys if key[:2] in step.updates}
    if not paths:
        yield from (step.index.manifests[key] for key in held if key in step.index.manifests)
        return
    for key, manifest in step.index.manifests.items():
        if key[:2] in step.updates and (key in held or manifest.origin.path in paths):
            yield manifest


def _fault(manifest: Manifest, violation: Violation) -> Fault:
    """Return what a person must edit."""
    return Fault.of_manifest(
        manifest,
        rule=violation.rule,
        message=violation.message,
        field=violation.pointer,
        expected=violation.expected,
    )


def inputs_before(
    world: World,
    now: Collection[FileValidation],
    then: Collection[FileValidation],
    last: LastPass,
    scopes: Mapping[Kind, bool],
) -> tuple[dict[ObjectKey, Manifest | None], dict[ObjectKey, FormerVersion]]:
    """Return what differs from the last pass as it was: `World.earlier` and `World.former`.

    Args:
        world: What is in force now.
        now: The files that differ, as they are.
        then: The same as they were, the versions that stood in for them if they were faulty, and
            those by which placements were kept.
        last: What the last pass recorded.
        scopes: Whether kinds are namespaced.
    """
    known = {one.key: (one, blob) for one, blob in _in_force(then, last, scopes)}
    keys = {one.key for file in now for one in _manifests(file, scopes)} | known.keys()
    past = ReportsBefore(
        world=world, differing=keys, then={key: one for key, (one, _) in known.items()}
    )
    inputs = world.inputs
    earlier: dict[ObjectKey, Manifest | None] = {}
    former = _kept(then, last, scopes)
    for key in sorted(past.subjects()):
        before, after = past.find(key), inputs.get(key)
        if key[:2] in TAKEN_BACK and not _is_same(before, after):
            earlier[key] = before
        if key[:2] in PLACES_BY and key in keys:
            written, blob = known.get(key, (None, ""))
            path = "" if written is None else written.origin.path
            former.setdefault(key, FormerVersion(path, blob, written))
    return earlier, {
        key: version
        for key, version in sorted(former.items(), key=itemgetter(0))
        if key in inputs and _places_otherwise(inputs[key], version.manifest)
    }


def _places_otherwise(now: Manifest, before: Manifest | None) -> bool:
    """Return whether a document places otherwise than before.

    One that is new does if others may have been placed without it: a policy.
    """
    if before is None:
        return now.key[:2] in ROOTS
    return any(
        _value_at(now.body, path) != _value_at(before.body, path) for path in PLACES_BY[now.key[:2]]
    )


def placing_as(now: Manifest, before: Manifest) -> Manifest:
    """Return a document that places as it did before, and says what it says now of all else."""
    body = now.body
    for path in PLACES_BY[now.key[:2]]:
        value = _value_at(before.body, path)
        body = without(body, path) if value is None else with_value(body, path, value)
    return replace(now, held=body)


def _value_at(body: Body, path: Sequence[str]) -> object:
    """Return what stands at a path, `None` for nothing."""
    *above, name = path
    return at(body, *above).get(name)


def _is_same(before: Manifest | None, after: Manifest | None) -> bool:
    """Return whether an object says what it said."""
    if before is None or after is None:
        return before is after
    return before.body == after.body


def _in_force(
    files: Iterable[FileValidation], last: LastPass, scopes: Mapping[Kind, bool]
) -> Iterator[tuple[Manifest, str]]:
    """Yield what was in force at the last pass, and its blob: of a held version what it gave."""
    held = {(entry.path, entry.blob): entry.keys for entry in last.held}
    kept = {(entry.path, entry.blob) for entry in last.kept} - held.keys()
    for file in files:
        if (file.path, file.blob) in kept:
            continue
        taken, twice = held.get((file.path, file.blob)), last.written_twice.get(file.path, ())
        for manifest in _manifests(file, scopes):
            if (taken is None or manifest.key in taken) and str(manifest.key) not in twice:
                yield manifest, file.blob


def _kept(
    files: Iterable[FileValidation], last: LastPass, scopes: Mapping[Kind, bool]
) -> dict[ObjectKey, FormerVersion]:
    """Return the versions by which the last pass kept placements."""
    by_version = {(file.path, file.blob): file for file in files} if last.kept else {}
    versions: dict[ObjectKey, FormerVersion] = {}
    for entry in last.kept:
        file = by_version.get((entry.path, entry.blob))
        manifests = {} if file is None else {one.key: one for one in _manifests(file, scopes)}
        for key in entry.keys:
            if not entry.blob or key in manifests:
                versions[key] = FormerVersion(
                    entry.path, entry.blob, manifests.get(key), is_kept=True
                )
    return versions


def _manifests(file: FileValidation, scopes: Mapping[Kind, bool]) -> Iterator[Manifest]:
    """Yield what a file holds that is looked at as it was."""
    for document in file.documents:
        if (document.identity.group, document.identity.kind) in READ_AS_BEFORE:
            yield Manifest(
                key_of(file.path, document, scopes), origin_of(file.path, document), document.held
            )


Read = Callable[[str, str], FileValidation | None]
"""Returns what a version of a file holds, given path and blob id; `None` if it is not there."""


def with_past(world: World, scopes: Mapping[Kind, bool], read: Read) -> World:
    """Return a world with the earlier versions from which its outputs still bring content.

    Args:
        world: Without them.
        scopes: Whether kinds are namespaced.
        read: Reads a version of a file.
    """
    past: dict[str, tuple[Manifest, ...]] = {}
    # The answer of an API that has no outputs need not be loaded.
    asked = [one for one in DIALECTS if any(map(world.outputs_of_kind, one.written))]
    for blobs in (*(dialect.past_blobs(world) for dialect in asked), past_contents(world)):
        for blob, path in blobs:
            file = None if blob in past else read(path, blob)
            if file is not None:
                past[blob] = tuple(
                    Manifest(key_of(path, one, scopes), origin_of(path, one), one.held)
                    for one in file.documents
                )
    return replace(world, past=past) if past else world
