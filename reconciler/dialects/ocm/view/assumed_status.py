"""The status of a set of ManifestWorks as it is by now, with what is assumed of silent clusters.

It is what one look at the set says of the works that its file records, as passes decided last.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.decisions.placement_record import DECISION
from reconciler.dialects.ocm.followed import placement_key
from reconciler.dialects.ocm.manifestworkreplicaset.decided_placement import decided_placement
from reconciler.dialects.ocm.manifestworkreplicaset.lifecycle import look_at, standing_set
from reconciler.dialects.ocm.manifestworkreplicaset.set_decision import with_assumed
from reconciler.dialects.ocm.manifestworkreplicaset.set_file import says_assumed, set_status
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    decode_record,
    sources_of,
    template_id,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_reports import reported_work
from reconciler.dialects.ocm.manifestworkreplicaset.sync import DecidedPlacement
from reconciler.dialects.ocm.view.placed import owner_of
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, format_moment, span
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World


def assumed_sets(world: World, now: datetime, /) -> Callable[[Manifest], Body]:
    """Return what says how sets are by now; one of which nothing is assumed stays the same."""
    hub = _Hub(world, now, settings_in(world).assume_after_seconds)

    def of(manifest: Manifest) -> Body:
        try:
            return hub.body(manifest)
        except UserError:  # a person made it unreadable, and it is shown as it stands
            return manifest.body

    return of


@dataclass
class _Hub:
    """The sets and placements of a world, at a moment."""

    world: World
    now: datetime
    seconds: int | None

    def body(self, output: Manifest) -> Body:
        """Return the status file of a set with what is assumed."""
        key, written = output.key, self.world.inputs.get(output.key)
        if written is None or self.seconds is None or says_assumed(output.body):
            return output.body
        wanted, record = standing_set(written), decode_record(output.body)
        template = template_id(wanted.template)
        objects = sources_of(wanted.template, self.world.known.scopes)
        works = [
            reported_work(
                key, wanted, one, template, objects, self.world.feedback, self.seconds, self.now
            )
            for one in record.works
        ]
        since = [one.record.since for one in works if one.assumed]
        if not since:
            return output.body
        placements = {
            one.name: decided
            for one in wanted.references
            if (decided := self._placement(placement_key((key.namespace, one.name)))) is not None
        }
        outcome = look_at(wanted, placements, [one.work for one in works], self.now)
        at = format_moment(add(max(since), span(seconds=self.seconds)))
        status = set_status(output.body, with_assumed(outcome, works), at=at)
        return {**output.body, "status": status}

    def _placement(self, key: ObjectKey) -> DecidedPlacement | None:
        """Return a placement as passes decided it last, `None` if they never did."""
        status = self.world.outputs.get(key)
        if status is None:
            return None
        return decided_placement(status.body, self._decisions.get(key, ()))

    @cached_property
    def _decisions(self) -> Mapping[ObjectKey, list[Body]]:
        """The PlacementDecisions of each placement, in order."""
        found: defaultdict[ObjectKey, list[Body]] = defaultdict(list)
        for one in self.world.outputs_of_kind((GROUP, DECISION)):
            owner = owner_of(one.key, one.body)
            if owner is not None:
                found[owner].append(one.body)
        return found
