"""Parts of manifests that tables of several APIs read and write alike."""

from collections.abc import Callable, Iterable, Mapping

from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.projection.facts import (
    BEGINNING,
    LABELS,
    LEAVING,
    Amounts,
    ClusterReadiness,
    FactRow,
    Force,
    SharedTaint,
)

REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"


def status_of(body: Body) -> Body:
    """Return the status of a manifest, an empty one if it has none."""
    return fields.mapping(body, "status")


def spec_of(body: Body) -> Body:
    """Return the spec of a manifest, an empty one if it has none."""
    return fields.mapping(body, "spec")


def label_of(body: Body, name: str) -> str:
    """Return a label, `""` if it is not there."""
    return fields.text(fields.mapping(fields.mapping(body, "metadata"), "labels"), name)


def labelled(**labels: str) -> Body:
    """Return the part of a manifest with some labels."""
    return {"metadata": {"labels": labels}}


def _labels(body: Body) -> Mapping[str, str] | None:
    pairs = fields.pairs_or_none(fields.mapping(body, "metadata"), "labels")
    return dict(pairs) if pairs else None


def _deleted_at(body: Body) -> str | None:
    return fields.text(fields.mapping(body, "metadata"), "deletionTimestamp") or None


METADATA: tuple[FactRow[Mapping[str, str]] | FactRow[str], ...] = (
    FactRow(
        LEAVING,
        "metadata.deletionTimestamp",
        _deleted_at,
        lambda at: {"metadata": {"deletionTimestamp": at}},
    ),
    FactRow(LABELS, "metadata.labels", _labels, lambda labels: {"metadata": {"labels": labels}}),
)
"""What all manifests say alike."""


def region_by_label(body: Body) -> str | None:
    """Return the region by the label that Kubernetes has for it."""
    return label_of(body, REGION_LABEL) or None


def zones_by_label(body: Body) -> tuple[str, ...] | None:
    """Return the zone by the label that Kubernetes has for it."""
    zone = label_of(body, ZONE_LABEL)
    return (zone,) if zone else None


def labelled_zone(zones: tuple[str, ...]) -> Body:
    """Return the label of a single zone; a label cannot tell several."""
    return labelled(**{ZONE_LABEL: zones[0]}) if len(zones) == 1 else {}


def read_taints(forces: Mapping[str, Force]) -> Callable[[Body], tuple[SharedTaint, ...] | None]:
    """Return what reads taints, given what each effect does; others are left out."""

    def read(body: Body) -> tuple[SharedTaint, ...] | None:
        found = tuple(
            SharedTaint(
                fields.text(one, "key"),
                fields.text(one, "value"),
                forces[fields.text(one, "effect")],
                fields.text(one, "timeAdded"),
            )
            for one in fields.bodies(spec_of(body), "taints")
            if fields.text(one, "effect") in forces
        )
        return found or None

    return read


def write_taints(
    effects: Mapping[Force, str], *, dated: bool
) -> Callable[[tuple[SharedTaint, ...]], Body]:
    """Return what writes taints, given the effect of each force; one without an effect is lost."""

    def written(one: SharedTaint) -> Body:
        body = {"key": one.key, "value": one.value, "effect": effects[one.force]}
        body |= {"timeAdded": one.added_at} if dated else {}
        return {name: value for name, value in body.items() if value}

    def write(taints: tuple[SharedTaint, ...]) -> Body:
        bodies: list[Body] = []
        for one in taints:
            body = written(one) if one.force in effects else None
            if body is not None and body not in bodies:
                bodies.append(body)
        return {"spec": {"taints": bodies}} if bodies else {}

    return write


def condition(kind: str, one: ClusterReadiness) -> Body:
    """Return a condition that says whether a cluster is well."""
    return {
        "type": kind,
        "status": one.status,
        "lastTransitionTime": one.since or BEGINNING,
        "reason": one.reason or "Projected",
        "message": one.message,
    }


def readiness_by(conditions: Iterable[Body], kind: str) -> ClusterReadiness | None:
    """Return whether a cluster is well by a condition, `None` if it is not there."""
    found = next((one for one in conditions if fields.text(one, "type") == kind), None)
    if found is None:
        return None
    parts = (fields.text(found, name) for name in ("lastTransitionTime", "reason", "message"))
    return ClusterReadiness(fields.text(found, "status"), *parts)


def amounts(body: Body, name: str) -> Amounts | None:
    """Return quantities as they are written, `None` if there are none."""
    found = fields.mapping_or_none(body, name)
    return None if found is None else {one: str(amount) for one, amount in found.items()}
