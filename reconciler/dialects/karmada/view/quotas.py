"""What is used of the quotas of a world, by their status files, and the clusters that they name."""

from collections.abc import Iterator
from itertools import islice

from reconciler.dialects.karmada.api.quota.admission import is_enforced
from reconciler.dialects.karmada.api.quota.quota import QUOTA, decode_assigned, decode_quota
from reconciler.dialects.karmada.api.quota.quota_status import decode_quota_status
from reconciler.dialects.karmada.api.settings import enforces_quotas
from reconciler.dialects.karmada.view.meant_clusters import KnownClusters, doubts_of_name
from reconciler.dialects.quota_usage import LimitedResource, QuotaUsage
from reconciler.manifests.references import Dangling, Known
from reconciler.manifests.schemas.violations import pointer_of
from reconciler.manifests.text.limits import MAX_VIOLATIONS
from reconciler.model.fields import mapping
from reconciler.model.message_text import shown
from reconciler.model.quantity import Quantity, parse_quantity
from reconciler.model.settings import settings_in
from reconciler.model.world import World


def quotas_in(world: World) -> Iterator[QuotaUsage]:
    """Yield every quota, by key; of one that no pass has seen yet nothing is used."""
    refuses = enforces_quotas(settings_in(world))
    for manifest in world.of_kind(*QUOTA):
        quota, record = decode_quota(manifest), world.outputs.get(manifest.key)
        used = {} if record is None else decode_quota_status(record.body).used
        resources = tuple(
            LimitedResource(
                name=name,
                used=parse_quantity(used[name]) if name in used else Quantity(0),
                limit=quota.overall[name],
                written=quota.limits[name],
            )
            for name in sorted(quota.overall)
        )
        yield QuotaUsage(key=quota.key, refuses=refuses, resources=resources)


def idle_limits(known: Known) -> Iterator[Dangling]:
    """Yield the limits that refuse nothing where quotas are enforced, and that no cluster has."""
    if not enforces_quotas(settings_in(known.world)):
        return
    for manifest in known.of_kind(*QUOTA):
        quota = decode_quota(manifest)
        assigned = {name for hard in quota.assignments.values() for name in hard}
        for name in sorted(quota.overall.keys() - assigned):
            if not is_enforced(name):
                yield Dangling(
                    manifest.key,
                    f"/spec/overall{pointer_of([name])}",
                    "quota-not-enforced",
                    f"the limit of {shown(name)} refuses nothing, since no replica asks for it",
                    _enforced_instead(name),
                )


def _enforced_instead(name: str) -> str:
    """Return the name that is compared, or what else limits it."""
    plain = name.removeprefix("requests.")
    if plain != name and is_enforced(plain) and plain != "storage":
        return f"{plain}, as containers request it"
    return "a ResourceQuota in each cluster, such as `staticAssignments` gives it"


def dangling_in_quotas(known: Known, clusters: KnownClusters) -> Iterator[Dangling]:
    """Yield the names in static assignments that no cluster has."""
    for manifest in known.of_kind(*QUOTA):
        names = enumerate(decode_assigned(mapping(manifest.body, "spec")))
        found = (
            one
            for position, name in names
            for one in doubts_of_name(
                manifest.key, name, f"/spec/staticAssignments/{position}/clusterName", clusters
            )
        )
        yield from islice(found, MAX_VIOLATIONS)
