"""A ManifestWorkReplicaSet, with the defaults of its CRD."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.ocm.api.groups import WORK_GROUP
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, pairs_or_none, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of

GROUP = WORK_GROUP
KIND = "ManifestWorkReplicaSet"
WORK = "ManifestWork"
SET_LABEL = f"{GROUP}/manifestworkreplicaset"
PLACEMENT_LABEL = f"{GROUP}/placementname"


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
        finalizers: In order.
        deleting: Whether it has a deletionTimestamp.
        cascade: Its cascadeDeletionPolicy.
    """

    namespace: str
    name: str
    labels: Mapping[str, str]
    references: tuple[PlacementReference, ...]
    template: Body
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    cascade: str = "Background"

    @property
    def label(self) -> str:
        """The value of the label by which its ManifestWorks are found."""
        return f"{self.namespace}.{self.name}"

    def labels_for(self, placement: str) -> dict[str, str]:
        """Return the labels of its ManifestWorks for a placement; its own do not replace ours."""
        return {**self.labels, SET_LABEL: self.label, PLACEMENT_LABEL: placement}


def set_of(work: Body) -> ObjectKey | None:
    """Return the set that a ManifestWork says it is of, `None` if it names none."""
    namespace, _, name = labels_of(work).get(SET_LABEL, "").partition(".")
    return ObjectKey(GROUP, KIND, namespace, name) if name else None


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
        finalizers=tuple(strings(metadata, "finalizers")),
        deleting=metadata.get("deletionTimestamp") is not None,
        cascade=text(spec, "cascadeDeletionPolicy") or "Background",
    )


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


def same_spec(one: Body, other: Body) -> bool:
    """Return whether two specs of ManifestWorks want the same.

    Moments of creation, which Go writes as null, are nothing.

    Source: ocm@00f84c3 sdk-go pkg/apis/work/v1/applier `ManifestWorkEqual`.
    """
    return one is other or comparable_spec(one) == comparable_spec(other)


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
