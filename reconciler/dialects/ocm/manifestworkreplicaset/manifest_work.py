"""A ManifestWork as its set sees it: what it holds, and how far its cluster is with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    PLACEMENT_LABEL,
    defaulted_spec,
)
from reconciler.dialects.ocm.rollout.cluster_status import RolloutStatus
from reconciler.model.body import Body
from reconciler.model.fields import bodies, items_or_none, mapping, number, pairs_or_none, text
from reconciler.model.identity import ClusterName
from reconciler.model.moments import parse_moment


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
        return self.labels.get(PLACEMENT_LABEL, "")

    def is_true(self, condition: str) -> bool:
        """Return whether a condition holds, of whichever generation."""
        return self.conditions.get(condition, NONE).status == "True"


def decode_work(body: Body) -> ManifestWork:
    """Return the ManifestWork that a manifest holds."""
    metadata = mapping(body, "metadata")
    generation = number(metadata, "generation")
    found = bodies(mapping(body, "status"), "conditions")
    owners, annotations = items_or_none(metadata, "ownerReferences"), metadata.get("annotations")
    return ManifestWork(
        cluster=ClusterName(text(metadata, "namespace")),
        name=text(metadata, "name"),
        labels=dict(pairs_or_none(metadata, "labels") or ()),
        marks={"annotations": annotations, "ownerReferences": owners},
        body=body,
        spec=defaulted_spec(mapping(body, "spec")),
        deleting=metadata.get("deletionTimestamp") is not None,
        conditions={text(one, "type"): _condition(one, generation) for one in reversed(found)},
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
