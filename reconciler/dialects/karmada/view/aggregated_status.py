"""What clusters report of a binding: aggregatedStatus, and the FullyApplied condition.

A cluster that never reported counts as applied and healthy a while after it was chosen; the moments
at which clusters were chosen stand in an annotation of the binding. The assumption is not written:
decisions count with it, and `assumed_in` adds it for whoever reads the file. It reads nothing but
the file. A cluster with an entry there reported, or an older version of ours wrote what it assumed;
what older rules wrote stays while it holds, so that no file is written for it alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding import (
    AggregatedStatusItem,
    BindingMetadata,
    BindingStatus,
    assumed_item,
    decode_metadata,
    decode_status,
    encode_status,
)
from reconciler.dialects.karmada.api.binding_spec import decode_spec
from reconciler.dialects.karmada.api.work import BindingReports as Reports
from reconciler.errors import UserError
from reconciler.manifests.admission import read_moments, write_note
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.fields import text
from reconciler.model.health import Assumption, Health, assume
from reconciler.model.moments import add, earliest, format_moment, parse_moment, span, stamp
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World

PLACED_AT = "reconciler.dev/placed-at"
FULLY_APPLIED = "FullyApplied"
FAILED = "FullyAppliedFailed"
NOWHERE = Condition(FULLY_APPLIED, "False", FAILED, "No cluster is left that could apply it")


class Feedback(NamedTuple):
    """What is known of a binding's clusters.

    Attributes:
        placed_at: The annotation: cluster to the moment at which it was chosen, as JSON.
        aggregated: aggregatedStatus as it is written, by name of cluster.
        condition: FullyApplied as it is written, `None` where there is no cluster to apply it.
        health: Cluster to health, with what is assumed by now.
        reported: Cluster to health, as they report it.
        until: When an assumption would change what is written, `None` if none would.
        assumed_at: When the next cluster will be assumed to be healthy, `None` if none will.
    """

    placed_at: str
    aggregated: Sequence[AggregatedStatusItem]
    condition: Condition | None
    health: Mapping[str, str]
    reported: Mapping[str, str]
    until: datetime | None
    assumed_at: datetime | None


def gather(
    clusters: Iterable[str],
    metadata: BindingMetadata,
    reports: Reports,
    written: Iterable[AggregatedStatusItem],
    *,
    assume_after_seconds: int | None,
    now: datetime,
) -> Feedback:
    """Return what is known of the clusters of a binding.

    Args:
        clusters: Names of the clusters that it is on.
        metadata: The binding's metadata at the last pass; the moment of a cluster stays as long as
            the binding is on it.
        reports: What the clusters say themselves; nothing is assumed of those that say anything.
        written: The entries of aggregatedStatus at the last pass.
        assume_after_seconds: See `model/settings.py`.
        now: Moment for clusters newly chosen.
    """
    names = sorted(clusters)
    placed, written_at = _noted(metadata.note(PLACED_AT))
    first_at = format_moment(now)
    placed_at = {name: placed.get(name, first_at) for name in names}
    reported = reports.items(names)
    silent = {name: at for name, at in placed_at.items() if name not in reported}
    assumed, assumed_at = assumed_among(silent, assume_after_seconds, now)
    assumed_before = {item.cluster for item in written if item == assumed_item(item.cluster)}
    still_silent = {name: at for name, at in silent.items() if name in assumed_before}
    told, until = assumed_among(still_silent, assume_after_seconds, now)
    items = {**{name: assumed_item(name) for name in told}, **reported}
    healthy = dict.fromkeys(assumed, str(Health.HEALTHY))
    by_report = {name: item.health for name, item in reported.items()}
    return Feedback(
        placed_at=written_at if placed_at == placed else write_note(placed_at),
        aggregated=[items[name] for name in names if name in items],
        condition=fully_applied(names, items, told, assume_after_seconds) if names else None,
        health={**healthy, **by_report},
        reported=by_report,
        until=until,
        assumed_at=assumed_at,
    )


@lru_cache(maxsize=1024)  # many bindings were put on the same clusters at the same moment
def _noted(note: str) -> tuple[Mapping[str, str], str]:
    """Return the moments of the annotation by cluster, and their text as a pass writes it."""
    moments = read_moments(note)
    return MappingProxyType(moments), write_note(moments)


def assumed_among(
    silent: Mapping[str, str], after_seconds: int | None, now: datetime
) -> tuple[list[str], datetime | None]:
    """Return the silent clusters that count as healthy by now, and when the next one will.

    Args:
        silent: Cluster to the moment at which it was chosen, as written.
        after_seconds: See `model/health.py`.
        now: Aware UTC.
    """
    moments = {at: _assumed(at, after_seconds, now) for at in {*silent.values()}}
    assumed = [name for name, at in silent.items() if moments[at].available]
    return assumed, earliest(*(one.until for one in moments.values()))


@lru_cache(maxsize=1024)  # as above
def _assumed(at: str, after_seconds: int | None, now: datetime) -> Assumption:
    """Return what is assumed of a cluster that was chosen at a moment, as written."""
    return assume(parse_moment(at), after_seconds, now)


def fully_applied(
    names: Sequence[str],
    items: Mapping[str, AggregatedStatusItem],
    assumed: Sequence[str],
    assume_after_seconds: int | None,
) -> Condition:
    """Return the FullyApplied condition; its reason says what is assumed.

    Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `AggregateResourceBindingWorkStatus`;
    the assumed reason is ours.
    """
    if any(item.refused for item in items.values()):
        return Condition(
            FULLY_APPLIED,
            "False",
            FAILED,
            "Failed to apply all works, see status.aggregatedStatus for details",
        )
    waiting = ", ".join([name for name in names if name not in items])
    if waiting:
        return Condition(
            FULLY_APPLIED, "False", "AwaitingFeedback", f"No report yet from {waiting}"
        )
    if not assumed:
        return Condition(
            FULLY_APPLIED, "True", "FullyAppliedSuccess", "All works have been successfully applied"
        )
    silent = "No cluster reported, all" if len(assumed) == len(names) else ", ".join(assumed)
    return Condition(
        FULLY_APPLIED,
        "True",
        "FullyAppliedAssumed",
        f"{silent} are assumed to have applied it {assume_after_seconds} s after they were chosen",
    )


def with_feedback(status: BindingStatus, feedback: Feedback, now: datetime) -> BindingStatus:
    """Return a binding's status with what is known of its clusters.

    One that never had a cluster has no FullyApplied, as upstream, where Works alone make it. Of one
    that lost all of them upstream points to an aggregatedStatus that is not there.
    """
    reports = [item.body for item in feedback.aggregated]
    condition = feedback.condition
    if condition is None:
        types = (one.get("type") for one in status.conditions or ())
        if FULLY_APPLIED not in types:
            return status._replace(reports=reports)
        condition = NOWHERE
    conditions = set_condition(status.conditions or (), condition, at=stamp(now))
    return status._replace(conditions=conditions, reports=reports)


def assumed_in(world: World, now: datetime, /) -> Callable[[Manifest], Body]:
    """Return what says how bindings are by now; one of which nothing is assumed stays the same."""
    seconds = settings_in(world).assume_after_seconds

    def of(manifest: Manifest) -> Body:
        try:
            return manifest.body if seconds is None else _as_of(manifest.body, seconds, now)
        except UserError:  # a person made it unreadable, and it is shown as it stands
            return manifest.body

    return of


def _as_of(body: Body, seconds: int, now: datetime) -> Body:
    """Return a binding with what is assumed of its silent clusters."""
    spec, status = decode_spec(body), decode_status(body)
    names = sorted(spec.held_on)
    items = {item.cluster: item for item in status.aggregated}
    chosen = read_moments(decode_metadata(body).note(PLACED_AT))
    silent = {name: chosen[name] for name in names if name in chosen and name not in items}
    assumed, _ = assumed_among(silent, seconds, now)
    if not assumed:
        return body
    items |= {name: assumed_item(name) for name in assumed}
    condition = fully_applied(names, items, assumed, seconds)
    since = format_moment(
        add(max(parse_moment(silent[name]) for name in assumed), span(seconds=seconds))
    )
    as_assumed = status._replace(
        conditions=set_condition(
            status.conditions or (), condition, at=max(since, _changed_at(status))
        ),
        reports=[items[name].body for name in names if name in items],
    )
    return {**body, "status": encode_status(as_assumed)}


def _changed_at(status: BindingStatus) -> str:
    """Return when the condition of the file came to be, `""` without one."""
    applied = (one for one in status.conditions or () if one.get("type") == FULLY_APPLIED)
    return next((text(one, "lastTransitionTime") for one in applied), "")
