"""How bindings and placements are by now: what their files say, and what is assumed since.

Nothing but files is read: a binding without any condition of its present resources is of a cluster
that never reported them, and says when they were rolled out. A placement follows its bindings.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.kinds import SCOPES
from reconciler.dialects.kubefleet.api.names import BOUND, GROUP, SCHEDULED, UNSCHEDULED
from reconciler.dialects.kubefleet.api.placement_status import (
    ClusterStatus,
    decode_placement_status,
    encode_placement_status,
)
from reconciler.dialects.kubefleet.rollout.availability import (
    ROLLED_OUT,
    ROLLED_OUT_AT,
    assumed_conditions,
)
from reconciler.dialects.kubefleet.view.placed import owner_of
from reconciler.dialects.kubefleet.view.status_conditions import (
    OVERRIDDEN,
    STAGES,
    overall_conditions,
    reported,
)
from reconciler.errors import UserError
from reconciler.model.availability import assume
from reconciler.model.body import Body
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.fields import mapping, number, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, format_moment, is_moment, parse_moment, span
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World

TOLD = "Scheduled"  # what an entry of a cluster says before its stages


def assumed_bindings(world: World, now: datetime, /) -> Callable[[Manifest], Body]:
    """Return what says how bindings are by now; one of which nothing is assumed stays the same."""
    seconds = settings_in(world).assume_after_seconds

    def of(manifest: Manifest) -> Body:
        assumed = _assumed(manifest.body, seconds, now)
        if assumed is None:
            return manifest.body
        conditions: Sequence[Body] = assumed.binding.conditions
        for condition in assumed.conditions:
            conditions = set_condition(conditions, condition, at=assumed.since)
        ordered = sorted(conditions, key=_place)
        status = {**mapping(manifest.body, "status"), "conditions": ordered}
        return {**manifest.body, "status": status}

    return of


def _place(condition: Body) -> int:
    """Return where a condition stands among others; one that a person wrote comes last."""
    kind = condition.get("type")
    return STAGES.index(kind) if kind in STAGES else len(STAGES)


def assumed_placements(world: World, now: datetime, /) -> Callable[[Manifest], Body]:
    """Return what says how placements are by now, by their bindings; see `assumed_bindings`."""
    fleet = _Fleet(world, now)

    def of(manifest: Manifest) -> Body:
        try:
            return _placement(manifest, fleet.assumed.get(manifest.key, {}))
        except UserError:  # a person made it unreadable, and it is shown as it stands
            return manifest.body

    return of


class _Assumed(NamedTuple):
    """What is assumed of the cluster of a binding, since a moment as text."""

    binding: Binding
    conditions: Sequence[Condition]
    since: str


def _assumed(body: Body, seconds: int | None, now: datetime) -> _Assumed | None:
    """Return what is assumed by now of the cluster of a binding's file, `None` if nothing is."""
    try:
        binding = decode_binding(body)
    except UserError:
        return None
    at = binding.annotations.get(ROLLED_OUT_AT, "")
    is_there = binding.state in (BOUND, UNSCHEDULED) and binding.resource_snapshot
    is_dated = binding.annotations.get(ROLLED_OUT) == binding.resource_snapshot and is_moment(at)
    silent = not _reports(binding) and not _is_undelivered(binding)
    if seconds is None or not is_there or not is_dated or not silent:
        return None
    if not assume(parse_moment(at), seconds, now).available:
        return None
    since = format_moment(add(parse_moment(at), span(seconds=seconds)))
    return _Assumed(binding, assumed_conditions(binding, seconds), since)


def _is_undelivered(binding: Binding) -> bool:
    """Return whether an override does not fit, so that the cluster was given nothing."""
    return any(
        (one.get("type"), one.get("status")) == (OVERRIDDEN, "False")
        and one.get("observedGeneration") == binding.generation
        for one in binding.conditions
    )


def _reports(binding: Binding) -> bool:
    """Return whether a binding says anything of what clusters report."""
    return any(
        one.get("type") in reported(binding.apply_strategy)
        and one.get("observedGeneration") == binding.generation
        for one in binding.conditions
    )


@dataclass
class _Fleet:
    """The bindings of a world."""

    world: World
    now: datetime

    @cached_property
    def assumed(self) -> Mapping[ObjectKey, Mapping[str, _Assumed]]:
        """By placement and cluster what is assumed; each is looked at once."""
        seconds = settings_in(self.world).assume_after_seconds
        found: defaultdict[ObjectKey, dict[str, _Assumed]] = defaultdict(dict)
        for one in self._bindings():
            owner, assumed = owner_of(one.key, one.body), _assumed(one.body, seconds, self.now)
            staying = assumed is not None and assumed.binding.state in (SCHEDULED, BOUND)
            if owner is not None and assumed is not None and staying:
                found[owner][str(assumed.binding.target)] = assumed
        return found

    def _bindings(self) -> Iterator[Manifest]:
        return self.world.outputs_of((GROUP, kinds.binding) for kinds in SCOPES)


def _placement(manifest: Manifest, assumed: Mapping[str, _Assumed]) -> Body:
    """Return a placement with what is assumed of its clusters."""
    status = decode_placement_status(manifest.body)
    entries = [_entry(one, assumed.get(one.cluster)) for one in status.clusters or ()]
    since = [found.since for one, found in entries if found is not None]
    if not since:
        return manifest.body
    kind, conditions = manifest.key.kind, list(status.conditions or ())
    reached = [_reached(one) for one, _ in entries]
    stages = [stage for stage in STAGES if any(stage in one for one in reached)]
    generation = _generation(conditions, f"{kind}Scheduled")
    overridden = any(one.overrides for one, _ in entries)
    reaching = [one for one in reached if one]
    for condition in overall_conditions(kind, stages, generation, reaching, overridden=overridden):
        conditions = set_condition(conditions, condition, at=max(since))
    told = status._replace(conditions=conditions, clusters=tuple(one for one, _ in entries))
    return {**manifest.body, "status": encode_placement_status(told)}


def _entry(entry: ClusterStatus, assumed: _Assumed | None) -> tuple[ClusterStatus, _Assumed | None]:
    """Return the entry of a cluster with what is assumed of it, where it waits for reports."""
    last: Body = entry.conditions[-1] if entry.conditions else {}
    waits = last.get("status") == "Unknown"
    if assumed is None or not waits or last.get("type") != assumed.conditions[0].type:
        return entry, None
    conditions: Sequence[Body] = entry.conditions
    for one in assumed.conditions:
        told = Condition(one.type, one.status, one.reason, one.message, _generation([last]))
        conditions = set_condition(conditions, told, at=assumed.since)
    return entry._replace(conditions=conditions), assumed


def _reached(entry: ClusterStatus) -> dict[str, str]:
    """Return the stages of a selected cluster with their status, none of another one."""
    stages = {text(one, "type"): text(one, "status") for one in entry.conditions}
    return stages if stages.pop(TOLD, "") == "True" else {}


def _generation(conditions: Iterable[Body], kind: str = "") -> int:
    """Return the generation that the first condition speaks of, or that of a type."""
    found = (one for one in conditions if kind in ("", one.get("type")))
    return number(next(found, {}), "observedGeneration")
