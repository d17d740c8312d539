"""Which function answers which family of vectors."""

from collections.abc import Callable, Mapping

from tests.conformance.karmada import check_graceful, check_schedule, check_taints
from tests.conformance.karmada_policies import (
    check_bindingfromtemplate,
    check_policyadmission,
    check_policymatch,
)
from tests.conformance.karmada_rebalancer import check_rebalancer
from tests.conformance.kubefleet import check_schedule as check_kubefleet_schedule
from tests.conformance.kubefleet_rollout import check_rollout
from tests.conformance.kubefleet_snapshots import check_policysnapshot, check_resourcesnapshot
from tests.conformance.ocm import check_placement
from tests.conformance.ocm_enqueue import check_enqueue

Body = Mapping[str, object]
Check = Callable[[Body], str | None]

FAMILIES: Mapping[str, Check] = {
    "karmada/bindingfromtemplate": check_bindingfromtemplate,
    "karmada/gracefuleviction": check_graceful,
    "karmada/policyadmission": check_policyadmission,
    "karmada/policymatch": check_policymatch,
    "karmada/rebalancer": check_rebalancer,
    "karmada/schedule": check_schedule,
    "karmada/taints": check_taints,
    "ocm/enqueue": check_enqueue,
    "ocm/placement": check_placement,
    "kubefleet/policysnapshot": check_policysnapshot,
    "kubefleet/resourcesnapshot": check_resourcesnapshot,
    "kubefleet/rollout": check_rollout,
    "kubefleet/schedule": check_kubefleet_schedule,
}

_INPUTS = {
    "ocm": {"managedClusters", "placementDecisions"},
    "kubefleet": {"memberClusters", "policySnapshot", "snapshots", "resourceSnapshots"},
}


def dialect_of(case: Body) -> str:
    """Return the dialect of a vector: two name a family `schedule`, so the input decides."""
    given = case["input"]
    keys = set(given) if isinstance(given, Mapping) else set()
    return next((dialect for dialect, words in _INPUTS.items() if keys & words), "karmada")
