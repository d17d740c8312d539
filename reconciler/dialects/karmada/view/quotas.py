"""What is used of the quotas of a world, by their status files."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.quota.quota import QUOTA, decode_quota
from reconciler.dialects.karmada.api.quota.quota_status import decode_quota_status
from reconciler.dialects.karmada.api.settings import enforces_quotas
from reconciler.dialects.quota_usage import LimitedResource, QuotaUsage
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
