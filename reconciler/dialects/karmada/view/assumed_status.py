"""The status of a binding as it is by now: what its file says, and what is assumed since.

Nothing but the file is read: a cluster that has an entry there reported, or an older version of
ours wrote what it assumed; of the others the file says when they were chosen.
"""

from collections.abc import Callable
from datetime import datetime

from reconciler.dialects.karmada.api.work.binding_metadata import decode_metadata
from reconciler.dialects.karmada.api.work.binding_spec import decode_spec
from reconciler.dialects.karmada.api.work.binding_status import (
    BindingStatus,
    assumed_item,
    decode_status,
    encode_status,
)
from reconciler.dialects.karmada.view.aggregated_status import (
    FULLY_APPLIED,
    PLACED_AT,
    assumed_among,
    fully_applied,
)
from reconciler.errors import UserError
from reconciler.manifests.annotation_json import read_moments
from reconciler.model.body import Body
from reconciler.model.conditions import set_condition
from reconciler.model.fields import text
from reconciler.model.moments import add, format_moment, parse_moment, span
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World


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
    found = status._replace(
        conditions=set_condition(
            status.conditions or (), condition, at=max(since, _changed_at(status))
        ),
        reports=[items[name].body for name in names if name in items],
    )
    return {**body, "status": encode_status(found)}


def _changed_at(status: BindingStatus) -> str:
    """Return when the condition of the file came to be, `""` without one."""
    found = (one for one in status.conditions or () if one.get("type") == FULLY_APPLIED)
    return next((text(one, "lastTransitionTime") for one in found), "")
