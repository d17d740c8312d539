"""Live ManifestWorks in the state of their sets, each under the name that it has."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.importer import FOLDER, Adopted
from reconciler.dialects.ocm.api.placement import GROUP as CLUSTER_GROUP
from reconciler.dialects.ocm.api.placement_decision import decode_decision
from reconciler.dialects.ocm.decisions.placement_record import DECISION
from reconciler.dialects.ocm.manifestworkreplicaset.lifecycle import standing_set
from reconciler.dialects.ocm.manifestworkreplicaset.manifest_work import ManifestWork, decode_work
from reconciler.dialects.ocm.manifestworkreplicaset.plain_reports import plain_reports
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    GROUP,
    KIND,
    PLACEMENT_LABEL,
    WORK,
    decode_replica_set,
    manifests_of,
    set_of,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    SetRecord,
    WorkRecord,
    record_annotations,
    sources_of,
    template_id,
)
from reconciler.errors import UserError
from reconciler.manifests.admission import admit
from reconciler.manifests.paths import blob_id, output_path
from reconciler.manifests.secrets import without_secrets
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import is_moment, parse_moment
from reconciler.model.world import World

Live = Mapping[ObjectKey, Body]

OVER = (
    "its placement has left that cluster, so no pass would write it, and none takes it away: "
    "delete it on the hub"
)
PLAIN = (
    "it has a Secret in plain and an earlier template, so its cluster gets nothing new until the "
    "rollout of its set reaches it"
)


def adopt_sets(world: World, live: Live, now: datetime) -> Adopted:
    """Return the state of the live sets that are in the repository.

    A pass gives a cluster a work if its record has none, under a name that we draw. So each live
    work is recorded with its template and its name: delivered under another one, two works of one
    set would stand on a cluster.
    """
    decided = _decided(live)
    works: dict[ObjectKey, dict[ObjectKey, ManifestWork]] = {}
    left: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    for key in sorted(live):
        owner = set_of(live[key]) if key[:2] == (GROUP, WORK) else None
        if owner is None:
            continue
        work = decode_work(live[key])
        if owner not in world.inputs:
            lacking[key] = owner
        elif work.deleting:
            left[key] = "it is being deleted"
        elif not work.placement:
            left[key] = f"it has no label {PLACEMENT_LABEL}, which says for which placement it is"
        elif work.cluster not in decided.get((owner.namespace, work.placement), (work.cluster,)):
            left[key] = OVER
        else:
            works.setdefault(owner, {})[key] = work
    outputs: dict[ObjectKey, Body] = {}
    contents: dict[ObjectKey, tuple[str, str]] = {}
    for owner in sorted({*works, *(one.key for one in world.of_kind(GROUP, KIND)) & live.keys()}):
        record, others = _record(owner, works.get(owner, {}), world, live, now)
        left |= others
        try:
            earlier = _earlier(owner, works.get(owner, {}), world)
            left |= earlier.left
            record = replace(record, contents=earlier.blobs)
            outputs[owner] = _state(owner, record, world, live.get(owner, {}), now)
            if earlier.text:
                contents[owner] = earlier.path, earlier.text
        except UserError as error:
            left[owner] = f"no pass can read it: {error.message}"
    return Adopted(outputs=outputs, left=left, lacking=lacking, contents=contents)


def _decided(live: Live) -> dict[tuple[str, str], set[ClusterName]]:
    """Return the clusters that live placements have decided for, by namespace and name."""
    found: dict[tuple[str, str], set[ClusterName]] = {}
    for key, body in live.items():
        if (key.group, key.kind) == (CLUSTER_GROUP, DECISION):
            decision = decode_decision(body)
            if decision.owner is not None:
                found.setdefault(decision.owner, set()).update(decision.clusters)
    return found


def _record(
    owner: ObjectKey,
    works: Mapping[ObjectKey, ManifestWork],
    world: World,
    live: Live,
    now: datetime,
) -> tuple[SetRecord, dict[ObjectKey, str]]:
    """Return the record of a set, and which works have no place in it: one a cluster has."""
    found: dict[tuple[ClusterName, str], WorkRecord] = {}
    templates: dict[str, tuple[ObjectKey, ...]] = {}
    others: dict[ObjectKey, str] = {}
    for key, work in works.items():
        place, template = (work.cluster, work.placement), template_id(work.spec)
        if place in found:
            others[key] = f"its cluster has another work of its set: {found[place].name(owner)}"
            continue
        objects = templates.setdefault(template, sources_of(work.spec, world.known.scopes))
        seen = plain_reports(work.cluster, objects, world.feedback).token
        since = _since(live[key], now)
        found[place] = WorkRecord(*place, template, since, seen, adopted_name=work.name)
    return SetRecord(tuple(sorted(found.values())), templates), others


class _EarlierTemplates(NamedTuple):
    """Templates that clusters have and the repository has not: a file of them, by their tokens."""

    path: str
    text: str
    blobs: Mapping[str, str]
    left: Mapping[ObjectKey, str]


def _earlier(
    owner: ObjectKey, works: Mapping[ObjectKey, ManifestWork], world: World
) -> _EarlierTemplates:
    """Return the templates of live works that are not the present one.

    Raises:
        UserError: The set cannot be decoded.
    """
    present = template_id(decode_replica_set(world.inputs[owner].body).template)
    specs: dict[str, Body] = {}
    left: dict[ObjectKey, str] = {}
    for key, work in works.items():
        template = template_id(work.spec)
        if template == present:
            continue
        if any(without_secrets(one) is not one for one in manifests_of(work.spec)):
            left[key] = PLAIN
        else:
            specs[template] = work.spec
    listed = [_document(owner, *one) for one in sorted(specs.items())]
    text = "---\n".join(map(encode, listed))
    blob = blob_id(text.encode(), like=world.revision)
    return _EarlierTemplates(output_path(FOLDER, owner), text, dict.fromkeys(specs, blob), left)


def _document(owner: ObjectKey, template: str, spec: Body) -> Body:
    named = {"name": f"{owner.name}-{template}", "namespace": owner.namespace}
    return {"apiVersion": f"{GROUP}/v1", "kind": WORK, "metadata": named, "spec": spec}


def _since(work: Body, now: datetime) -> datetime:
    """Return since when a cluster has a work: no later than now, and now if that is not known."""
    created = text(mapping(work, "metadata"), "creationTimestamp")
    return min(parse_moment(created), now) if is_moment(created) else now


def _state(owner: ObjectKey, record: SetRecord, world: World, live: Body, now: datetime) -> Body:
    """Return the status file of a set.

    Raises:
        UserError: The set cannot be decoded.
    """
    manifest = world.inputs[owner]
    standing_set(manifest)
    _, metadata = admit(owner, mapping(manifest.body, "spec"), None, now)
    created = text(mapping(live, "metadata"), "creationTimestamp")
    annotations = {**mapping(metadata, "annotations"), **record_annotations(record)}
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": owner.kind,
        "metadata": {
            **metadata,
            **({"creationTimestamp": created} if created else {}),
            "annotations": dict(sorted(annotations.items())),
        },
        "status": mapping(live, "status"),
    }
