"""A graceful eviction task of a binding: a cluster that its workload is leaving."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.model.moments import format_moment, parse_moment

DIRECTLY = "Directly"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionTask:
    """A cluster that a workload is leaving.

    `None` stands for an absent field. `body` is the task as written; what only its readers ask for
    is decoded when they ask.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `GracefulEvictionTask`.
    """

    from_cluster: ClusterName
    grace_period_seconds: int | None = None
    suppress_deletion: bool | None = None
    creation_timestamp: datetime | None = None
    body: Body

    @property
    def directly(self) -> bool:
        """Whether the cluster loses its copy at once."""
        return fields.text(self.body, "purgeMode") == DIRECTLY

    @property
    def replicas(self) -> int | None:
        """How many it had there, `None` if it says nothing of that."""
        return fields.number_or_none(self.body, "replicas")

    @property
    def reason(self) -> str:
        """Why it is left, in one word."""
        return fields.text(self.body, "reason")

    @property
    def since(self) -> str:
        """When it began, as written."""
        return fields.text(self.body, "creationTimestamp")

    @property
    def clusters_before_failover(self) -> tuple[str, ...]:
        """Where the application was before it failed over."""
        return fields.strings(self.body, "clustersBeforeFailover")

    @property
    def preserved_label_state(self) -> Mapping[str, str]:
        """The labels that stand for the state of the application there."""
        labels = fields.mapping(self.body, "preservedLabelState")
        return {name: str(value) for name, value in labels.items()}

    @property
    def carried_labels(self) -> Mapping[str, str]:
        """Those of them that its new copy gets: none while the old one may run beside it."""
        return self.preserved_label_state if self.directly else {}


def decode_task(body: Body) -> EvictionTask:
    """Return one graceful eviction task.

    Raises:
        UserError: A field has the wrong type.
    """
    return EvictionTask(
        from_cluster=ClusterName(fields.text(body, "fromCluster")),
        grace_period_seconds=fields.number_or_none(body, "gracePeriodSeconds"),
        suppress_deletion=fields.flag_or_none(body, "suppressDeletion"),
        creation_timestamp=moment_or_none(
            fields.text(body, "creationTimestamp"), "creationTimestamp"
        ),
        body=body,
    )


def new_task(
    cluster: ClusterName,
    *,
    purge_mode: str,
    replicas: int,
    reason: str,
    producer: str,
    grace_period_seconds: int | None = None,
    suppress_deletion: bool = False,
    preserved_label_state: Mapping[str, str] | None = None,
    clusters_before_failover: Iterable[str] = (),
) -> EvictionTask:
    """Return a task that begins now; its moment is set by graceful eviction.

    Args:
        cluster: The one that is left.
        purge_mode: How its copy goes.
        replicas: How many it had.
        reason: Why it is left.
        producer: Which controller has it left.
        grace_period_seconds: How long the copy may stay, `None` for the default.
        suppress_deletion: Whether it stays until a person says otherwise.
        preserved_label_state: The labels that the workload takes along, if any.
        clusters_before_failover: Where it was before, if that counts.
    """
    body: dict[str, object] = {"fromCluster": cluster, "purgeMode": purge_mode}
    if replicas > 0:
        body["replicas"] = replicas
    body |= {"reason": reason, "producer": producer}
    if grace_period_seconds is not None:
        body["gracePeriodSeconds"] = grace_period_seconds
    if suppress_deletion:
        body["suppressDeletion"] = True
    if preserved_label_state:
        body["preservedLabelState"] = dict(preserved_label_state)
    if before := list(clusters_before_failover):
        body["clustersBeforeFailover"] = before
    return EvictionTask(
        from_cluster=cluster,
        grace_period_seconds=grace_period_seconds or None,
        suppress_deletion=suppress_deletion or None,
        body=body,
    )


def begun(task: EvictionTask, now: datetime) -> EvictionTask:
    """Return a task with the moment at which it began, if it has none yet."""
    if task.creation_timestamp is not None:
        return task
    body = {**task.body, "creationTimestamp": format_moment(now)}
    return replace(task, creation_timestamp=now, body=body)


def moment_or_none(text: str | None, field: str) -> datetime | None:
    """Return the moment that the text of a field means, `None` if it has none.

    Raises:
        UserError: The text is none of a moment.
    """
    try:
        return parse_moment(text) if text else None
    except ValueError as error:
        raise UserError(f"must be a moment: {error}", field=field) from None
