"""A ManifestWorkReplicaSet with the defaults of its CRD, its ManifestWorks, and their record.

The set sees of a ManifestWork what it contains and how far its cluster is with it. The status file
of the set records its works without their content, but with the template of each.

The record has an annotation for each cluster, such as
`work.reconciler.dev/a: shop 0f3c55d2a1b4 2026-11-20T12:00:00Z`: for which placement it has a work,
of which template, since when. What plain reports said of it may follow: by what they were known
when the cluster got the template, `-` if there were none, and since when which condition is what,
as in `Progressing=False@2026-11-20T12:05:00Z`. An annotation for each template says which objects
are in it, so that delivery knows what is on a cluster that is still to get the present template. A
template that was adopted from a hub and is not the present one also has the git blob in which it
stands, so that delivery knows it whole.

Source: ours, for the record; upstream looks at the ManifestWorks themselves.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import cast

from reconciler.dialects.ocm.api.placement import WORK_GROUP
from reconciler.dialects.ocm.rollout import RolloutStatus, decode_strategy
from reconciler.manifests.admission import digest
from reconciler.manifests.identity import namespace_for
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.fields import (
    at,
    bodies,
    items_or_none,
    mapping,
    mapping_or_none,
    number,
    pairs_or_none,
    text,
    with_value,
    without,
)
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.kinds import Kind
from reconciler.model.labels import labels_of
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.records import dataclass, field, replace
from reconciler.model.world import Manifest

REPLICA_SET = "ManifestWorkReplicaSet"
WORK = "ManifestWork"
SET_LABEL = f"{WORK_GROUP}/manifestworkreplicaset"
SET_PLACEMENT_LABEL = f"{WORK_GROUP}/placementname"


@dataclass(frozen=True, slots=True)
class PlacementReference:
    """A placement whose clusters a set goes to; `strategy` is as written, `None` if it is not."""

    name: str
    strategy: Body | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSet:
    """A set: one ManifestWork for each cluster of its placements.

    Attributes:
        namespace: Its own.
        name: Its own.
        labels: Its own, which its works get.
        references: The placements, in file order.
        template: Of its works, defaults applied.
    """

    namespace: str
    name: str
    labels: Mapping[str, str]
    references: tuple[PlacementReference, ...]
    template: Body

    @property
    def label(self) -> str:
        """The value of the label by which its ManifestWorks are found."""
        return f"{self.namespace}.{self.name}"

    @property
    def rolls_out(self) -> bool:
        """Whether it has a rollout strategy of its own, so that nobody else stages it."""
        return not all(decode_strategy(one.strategy).is_at_once for one in self.references)

    @property
    def content(self) -> Body:
        """What of its template is content: all that counts but the replicas of its objects."""
        bare = comparable_spec(self.template)
        manifests = [
            one if _replicas_in(one) is None else without(one, REPLICAS)
            for one in manifests_of(bare)
        ]
        return _with_manifests(bare, manifests)

    def scaled_as(self, present: "ReplicaSet", scopes: Mapping[Kind, bool]) -> "ReplicaSet":
        """Return an earlier version of a set with the replicas that its objects have by now."""
        wanted, had = present.template, self.template
        counts = dict(zip(sources_of(wanted, scopes), manifests_of(wanted), strict=True))
        replicas = {source: _replicas_in(one) for source, one in counts.items()}
        manifests = []
        for source, manifest in zip(sources_of(had, scopes), manifests_of(had), strict=True):
            count = None if _replicas_in(manifest) is None else replicas.get(source)
            scaled = manifest if count is None else with_value(manifest, REPLICAS, count)
            manifests.append(scaled)
        return replace(present, template=_with_manifests(had, manifests))

    def labels_for(self, placement: str) -> dict[str, str]:
        """Return the labels of its ManifestWorks for a placement; its own do not replace ours."""
        return {**self.labels, SET_LABEL: self.label, SET_PLACEMENT_LABEL: placement}


def set_of(work: Body) -> ObjectKey | None:
    """Return the set that a ManifestWork says it is of, `None` if it names none."""
    namespace, _, name = labels_of(work).get(SET_LABEL, "").partition(".")
    return ObjectKey(WORK_GROUP, REPLICA_SET, namespace, name) if name else None


def decode_replica_set(body: Body) -> ReplicaSet:
    """Return the set that a manifest holds.

    Raises:
        UserError: A field has the wrong type.
    """
    metadata, spec = mapping(body, "metadata"), mapping(body, "spec")
    return ReplicaSet(
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        labels=dict(pairs_or_none(metadata, "labels") or ()),
        references=tuple(
            PlacementReference(text(one, "name"), mapping_or_none(one, "rolloutStrategy"))
            for one in bodies(spec, "placementRefs")
        ),
        template=defaulted_spec(mapping(spec, "manifestWorkTemplate")),
    )


def standing_set(manifest: Manifest) -> ReplicaSet:
    """Return a set of a file, which stands: an API server would write finalizers, no file has.

    Raises:
        UserError: It cannot be decoded.
    """
    metadata = {**mapping(manifest.body, "metadata"), "namespace": manifest.key.namespace}
    return decode_replica_set({**manifest.body, "metadata": metadata})


def defaulted_spec(spec: Body) -> Body:
    """Return the spec of a ManifestWork as an API server stores it, without what is empty.

    Source: ocm@00f84c3 open-cluster-management.io/api work/v1
    0000_00_work.open-cluster-management.io_manifestworks.crd.yaml.
    """
    fields = dict(spec)
    if mapping_or_none(spec, "deleteOption") is not None:
        fields["deleteOption"] = {
            "propagationPolicy": "Foreground",
            **mapping(spec, "deleteOption"),
        }
    if bodies(spec, "manifestConfigs"):
        configured = bodies(spec, "manifestConfigs")
        fields["manifestConfigs"] = [_without_empty(_configured(one)) for one in configured]
    return _without_empty(fields)


def _configured(written: Body) -> Body:
    config: dict[str, object] = {"feedbackScrapeType": "Poll", **written}
    strategy = mapping_or_none(written, "updateStrategy")
    if strategy is not None:
        config["updateStrategy"] = _strategy(strategy)
    return config


def _strategy(written: Body) -> Body:
    strategy: dict[str, object] = {"type": "Update", **written}
    apply = mapping_or_none(written, "serverSideApply")
    if apply is not None:
        ignored = [{"condition": "OnSpokePresent", **one} for one in bodies(apply, "ignoreFields")]
        fields = {"fieldManager": "work-agent", **apply, "ignoreFields": ignored}
        strategy["serverSideApply"] = _without_empty(fields)
    return strategy


def _without_empty(body: Body) -> Body:
    """Return a mapping without its null and empty fields, as Go writes optional ones."""
    return {name: one for name, one in body.items() if one is not None and one != []}


def manifests_of(template: Body) -> Sequence[Body]:
    """Return what a template puts onto each cluster."""
    return bodies(mapping(template, "workload"), "manifests")


def same_spec(first: Body, other: Body) -> bool:
    """Return whether two specs of ManifestWorks want the same.

    Moments of creation, which Go writes as null, are nothing.

    Source: ocm@00f84c3 sdk-go pkg/apis/work/v1/applier `ManifestWorkEqual`.
    """
    return first is other or comparable_spec(first) == comparable_spec(other)


def comparable_spec(spec: Body) -> Body:
    """Return what of a spec counts when two are compared.

    An empty string beside the manifests is none: Go writes `message: ""` into a condition rule
    where a person wrote nothing.
    """
    workload = mapping(spec, "workload")
    manifests = [_undated(one) for one in bodies(workload, "manifests")]
    own = {name: _without_blanks(one) for name, one in spec.items() if one != ""}
    return {**own, "workload": {**workload, "manifests": manifests}}


def _without_blanks(value: object) -> object:
    """Return a value without the fields that are empty strings."""
    if isinstance(value, Mapping):
        return {name: _without_blanks(one) for name, one in value.items() if one != ""}
    return [_without_blanks(one) for one in value] if isinstance(value, list | tuple) else value


REPLICAS = ("spec", "replicas")


def _replicas_in(manifest: Body) -> int | None:
    count = at(manifest, "spec").get("replicas")
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def _with_manifests(template: Body, manifests: Sequence[Body]) -> Body:
    return {**template, "workload": {**mapping(template, "workload"), "manifests": manifests}}


def _undated(manifest: Body) -> Body:
    undated = _changed(manifest, ("metadata",), _without_creation)
    return _changed(undated, ("spec", "template", "metadata"), _without_creation)


def _without_creation(metadata: Body) -> Body:
    return {name: one for name, one in metadata.items() if name != "creationTimestamp"}


def _changed(body: Body, path: tuple[str, ...], change: Callable[[Body], Body]) -> Body:
    """Return a mapping with what is at a path changed, if that is a mapping."""
    if not path:
        return change(body)
    below = body.get(path[0])
    if not isinstance(below, Mapping):
        return body
    return {**body, path[0]: _changed(below, path[1:], change)}


@dataclass(frozen=True, slots=True)
class WorkCondition:
    """A condition of a ManifestWork; `is_current` if it is about its present generation."""

    status: str
    is_current: bool
    changed_at: datetime | None


NONE = WorkCondition("", is_current=False, changed_at=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestWork:
    """One work of a set; its namespace is that of its cluster."""

    cluster: ClusterName
    name: str
    labels: Mapping[str, str]
    marks: Mapping[str, object]
    """Its annotations and owners by field, which no work of a set has upstream."""
    body: Body
    spec: Body
    deleting: bool
    conditions: Mapping[str, WorkCondition]

    @property
    def placement(self) -> str:
        """The name of the placement that it is for, `""` if it does not say."""
        return self.labels.get(SET_PLACEMENT_LABEL, "")

    def is_true(self, condition: str) -> bool:
        """Return whether a condition holds, of whichever generation."""
        return self.conditions.get(condition, NONE).status == "True"


def decode_work(body: Body) -> ManifestWork:
    """Return the ManifestWork that a manifest holds."""
    metadata = mapping(body, "metadata")
    generation = number(metadata, "generation")
    conditions = bodies(mapping(body, "status"), "conditions")
    owners, annotations = items_or_none(metadata, "ownerReferences"), metadata.get("annotations")
    return ManifestWork(
        cluster=ClusterName(text(metadata, "namespace")),
        name=text(metadata, "name"),
        labels=dict(pairs_or_none(metadata, "labels") or ()),
        marks={"annotations": annotations, "ownerReferences": owners},
        body=body,
        spec=defaulted_spec(mapping(body, "spec")),
        deleting=metadata.get("deletionTimestamp") is not None,
        conditions={text(one, "type"): _condition(one, generation) for one in reversed(conditions)},
    )


def _condition(body: Body, generation: int) -> WorkCondition:
    changed = text(body, "lastTransitionTime")
    return WorkCondition(
        status=text(body, "status"),
        is_current=number(body, "observedGeneration") == generation,
        changed_at=parse_moment(changed) if changed else None,
    )


def rollout_status(work: ManifestWork) -> tuple[RolloutStatus, datetime | None]:
    """Return how far a cluster is with a work, and since when.

    Source: ocm@00f84c3
    pkg/work/hub/controllers/manifestworkreplicasetcontroller/manifestworkreplicaset_deploy_reconcile.go
    `clusterRolloutStatusFunc`.
    """
    applied, progressing, degraded = (
        work.conditions.get(name, NONE) for name in ("Applied", "Progressing", "Degraded")
    )
    waiting = (
        not applied.is_current
        or applied.status != "True"
        or not progressing.is_current
        or (degraded is not NONE and not degraded.is_current)
    )
    if waiting:
        return RolloutStatus.TO_APPLY, None
    if progressing.status == "False":
        return RolloutStatus.SUCCEEDED, progressing.changed_at
    if progressing.status == "True" and degraded.status == "True":
        return RolloutStatus.FAILED, degraded.changed_at
    return RolloutStatus.PROGRESSING, progressing.changed_at


WORK_OF = "work.reconciler.dev/"
TEMPLATE_OF = "template.reconciler.dev/"
CONTENT_OF = "content.reconciler.dev/"
TEMPLATE = "reconciler.dev/template"
"""Annotation of a ManifestWork that says of which template it is, so that its report does, too."""
BLOB = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
TOKEN = 12  # hexadecimal digits of a digest
NOTHING_SEEN = "-"
NAMED = "named="
LONGEST_STEM = 50  # beside the token, in a name that fits into a label


@dataclass(frozen=True, slots=True, order=True)
class ObservedCondition:
    """A condition that follows from plain reports: its type, its status, since when."""

    kind: str
    status: str
    since: datetime


@dataclass(frozen=True, slots=True, order=True)
class WorkRecord:
    """A ManifestWork of a set: of the cluster, for the placement, of the template, since when.

    Attributes:
        cluster: Where it is.
        placement: Why.
        template: By what its template is known.
        since: When the cluster got that.
        seen: By what the plain reports were known then, `""` if there were none.
        observed: What plain reports have said since.
        adopted_name: Its name if it came from a hub, `""` if it has the one that we give.
    """

    cluster: ClusterName
    placement: str
    template: str
    since: datetime
    seen: str = ""
    observed: tuple[ObservedCondition, ...] = ()
    adopted_name: str = ""

    def name(self, owner: ObjectKey) -> str:
        """Return the name of the work, which stays while the cluster has one for the placement.

        Args:
            owner: The set.
        """
        return self.adopted_name or work_name(owner, self.placement, self.cluster)


@dataclass(frozen=True, slots=True)
class SetRecord:
    """The works of a set, sorted, and what is in each of their templates.

    `contents` are the git blobs of templates that came from a hub.
    """

    works: tuple[WorkRecord, ...] = ()
    templates: Mapping[str, tuple[ObjectKey, ...]] | None = None
    contents: Mapping[str, str] = field(default_factory=dict)

    def sources(self, template: str) -> tuple[ObjectKey, ...]:
        """Return the objects of a template, none if that is not known."""
        return (self.templates or {}).get(template, ())


def template_id(template: Body) -> str:
    """Return by what a template is known."""
    return digest(comparable_spec(template)).removeprefix("sha256:")[:TOKEN]


def work_name(owner: ObjectKey, placement: str, cluster: ClusterName) -> str:
    """Return the name of the work of a set for one cluster; upstream has one drawn."""
    token = digest([str(owner), placement, cluster]).removeprefix("sha256:")[:TOKEN]
    return f"{owner.name[:LONGEST_STEM].rstrip('-.')}-{token}"


def sources_of(template: Body, scopes: Mapping[Kind, bool]) -> tuple[ObjectKey, ...]:
    """Return the objects of a template, in order."""
    return tuple(_source(one, scopes) for one in manifests_of(template))


def _source(manifest: Body, scopes: Mapping[Kind, bool]) -> ObjectKey:
    metadata, group = mapping(manifest, "metadata"), group_of(text(manifest, "apiVersion"))
    kind = text(manifest, "kind")
    namespace = namespace_for(group, kind, text(metadata, "namespace"), scopes)
    return ObjectKey(group, kind, namespace, text(metadata, "name"))


def decode_record(status_file: Body | None) -> SetRecord:
    """Read a record back; what a person spoiled counts as missing."""
    annotations = mapping(mapping(status_file or {}, "metadata"), "annotations")
    works: list[WorkRecord] = []
    templates = {}
    contents: dict[str, str] = {}
    for name, written in annotations.items():
        if name.startswith(WORK_OF):
            works += _works(ClusterName(name.removeprefix(WORK_OF)), str(written))
        elif name.startswith(TEMPLATE_OF):
            templates[name.removeprefix(TEMPLATE_OF)] = _sources(str(written))
        elif name.startswith(CONTENT_OF) and BLOB.fullmatch(str(written)):
            contents[name.removeprefix(CONTENT_OF)] = str(written)
    return SetRecord(tuple(sorted(works)), templates, contents)


def _works(cluster: ClusterName, written: str) -> Iterable[WorkRecord]:
    for part in written.split("; "):
        words = part.split(" ")
        named = [word.removeprefix(NAMED) for word in words if word.startswith(NAMED)]
        match [word for word in words if not word.startswith(NAMED)]:
            case [placement, template, since, *rest]:
                seen, rows = (rest[0], rest[1:]) if rest else (NOTHING_SEEN, [])
            case _:
                continue
        try:
            observed = tuple(map(_observed, rows))
            yield WorkRecord(
                cluster,
                placement,
                template,
                parse_moment(since),
                "" if seen == NOTHING_SEEN else seen,
                observed,
                named[0] if named else "",
            )
        except ValueError:
            continue


def _observed(written: str) -> ObservedCondition:
    """Read a condition back.

    Raises:
        ValueError: A person spoiled it.
    """
    condition, _, since = written.partition("@")
    kind, _, status = condition.partition("=")
    return ObservedCondition(kind, status, parse_moment(since))


def _written(work: WorkRecord) -> str:
    words = [work.placement, work.template, format_moment(work.since)]
    if work.seen or work.observed:
        words += [work.seen or NOTHING_SEEN]
        words += [f"{c.kind}={c.status}@{format_moment(c.since)}" for c in work.observed]
    return " ".join([*words, f"{NAMED}{work.adopted_name}"] if work.adopted_name else words)


def _sources(written: str) -> tuple[ObjectKey, ...]:
    try:
        sources = json.loads(written)
    except ValueError:
        return ()
    listed = sources if isinstance(sources, list) else []
    return tuple(
        ObjectKey(*cast("list[str]", one))
        for one in listed
        if isinstance(one, list) and len(one) == 4 and all(isinstance(w, str) for w in one)
    )


def record_annotations(record: SetRecord) -> dict[str, str]:
    """Return the annotations that say it."""
    by_cluster: dict[str, list[str]] = {}
    for work in record.works:
        by_cluster.setdefault(f"{WORK_OF}{work.cluster}", []).append(_written(work))
    annotations = {name: "; ".join(told) for name, told in by_cluster.items()}
    for template in sorted({one.template for one in record.works}):
        sources = [[k.group, k.kind, k.namespace, k.name] for k in record.sources(template)]
        annotations[f"{TEMPLATE_OF}{template}"] = json.dumps(sources)
        if template in record.contents:
            annotations[f"{CONTENT_OF}{template}"] = record.contents[template]
    return annotations


def clusters_of(record: SetRecord) -> Placed:
    """Return the clusters of a record; there are no replicas."""
    return tuple((name, 0) for name in sorted({one.cluster for one in record.works}))
