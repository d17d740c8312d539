"""The world as a pass leaves it, for whoever asks what the pass after it would do."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reconciler.core.changes import Change, DeleteFile, Outcome, WriteFile
from reconciler.manifests.identify import Identity, identify
from reconciler.manifests.paths import ALONE, blob_id, output_path
from reconciler.manifests.text.canonical import read_canonical
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.versioned import branched
from reconciler.model.world import Manifest, World


def next_world(world: World, outcome: Outcome) -> World:
    """Return the world with the changes of a pass in it, the same one if there are none.

    The revision stays: that of the commit that a pass would make is not known.
    """
    if not outcome.changes:
        return world
    prefix = f"{world.output_root}/"
    ours = [change for change in outcome.changes if change.path.startswith(prefix)]
    theirs = [change for change in outcome.changes if not change.path.startswith(prefix)]
    return _with_delivered(_with_inputs(_with_outputs(world, ours), outcome, theirs), outcome)


def _with_delivered(world: World, outcome: Outcome) -> World:
    """Return the world with the files of clusters that a pass writes and deletes."""
    like = world.revision
    came = {
        one.path: blob_id(one.content.encode(), like=like)
        for one in outcome.delivered
        if isinstance(one, WriteFile)
    }
    gone = [one.path for one in outcome.delivered if isinstance(one, DeleteFile)]
    return replace(world, delivered=branched(world.delivered, came, gone))


def _with_outputs(world: World, changes: Sequence[Change]) -> World:
    """Return the world with the outputs that a pass writes and deletes."""
    outputs: dict[ObjectKey, Manifest] = {}
    present: dict[str, str] = {}
    inexact = dict(world.inexact)
    deleted = {change.path for change in changes if isinstance(change, DeleteFile)}
    gone = [key for key, one in world.outputs.items() if deleted and one.origin.path in deleted]
    for change in changes:
        inexact.pop(change.path, None)
        if isinstance(change, DeleteFile):
            continue
        data = change.content.encode()
        quickly = read_canonical(data)
        body = read(data, change.path).documents[0].body if quickly is None else quickly
        key = _key(world, change, body)
        if quickly is None:
            inexact[change.path] = key
        outputs[key] = Manifest(key, Origin(change.path), body)
        present[change.path] = blob_id(data, like=world.revision)
    return replace(
        world,
        outputs=branched(world.outputs, outputs, gone),
        present=branched(world.present, present, deleted),
        inexact=inexact,
        kinds=world.kinds.next(),
        output_kinds=world.output_kinds.next(),
    )


def _key(world: World, change: WriteFile, body: Body) -> ObjectKey:
    """Return the key of an output, by its path where it is one of the two of all objects."""
    for key in ALONE:
        if change.path == output_path(world.output_root, key):
            return key
    match identify(body, world.known):
        case Identity() as found:
            return ObjectKey(found.group, found.kind, found.namespace, found.name)
        case _:
            raise ValueError(f"{change.path} is no output")


def _with_inputs(world: World, outcome: Outcome, changes: Iterable[Change]) -> World:
    """Return the world without the documents that a pass takes out of people's files."""
    changed = {change.path: change for change in changes}
    origins = ((removal.key, world.inputs[removal.key].origin) for removal in outcome.removals)
    removed = {key: origin for key, origin in origins if origin.path in changed}
    if not removed:
        return world
    inputs = {}
    for key, manifest in world.inputs.items():
        place = manifest.origin
        before = sum(one.path == place.path and one.index < place.index for one in removed.values())
        moved = replace(manifest, origin=replace(place, index=place.index - before))
        if key not in removed:
            inputs[key] = moved if before else manifest
    removable = world.known.removable
    holding = {m.origin.path for key, m in inputs.items() if (key.group, key.kind) in removable}
    blobs, texts = dict(world.blobs), dict(world.texts)
    for path, change in changed.items():
        blobs.pop(path, None)
        texts.pop(path, None)
        if isinstance(change, WriteFile):
            data = change.content.encode()
            blobs[path] = blob_id(data, like=world.revision)
            texts |= {path: data} if path in holding else {}
    return replace(world, inputs=inputs, blobs=blobs, texts=texts)
