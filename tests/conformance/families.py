"""Which functions answer which family of vectors, directly and through the front door."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.builders import Body
from tests.conformance.direct.karmada import (
    check_detector,
    check_graceful,
    check_rebalancer,
    check_render,
    check_schedule,
    check_taintpolicy,
    check_taints,
)
from tests.conformance.direct.karmada_policies import check_admission as check_karmada_admission
from tests.conformance.direct.karmada_policies import (
    check_bindingfromtemplate,
    check_policyadmission,
    check_policymatch,
)
from tests.conformance.direct.kubefleet import (
    check_eviction,
    check_policysnapshot,
    check_resourceplacement,
    check_resourcesnapshot,
)
from tests.conformance.direct.kubefleet import check_schedule as check_kubefleet_schedule
from tests.conformance.direct.kubefleet_admission import check_admission, check_override
from tests.conformance.direct.kubefleet_rollout import check_rollout, check_updaterun
from tests.conformance.direct.ocm import (
    check_events,
    check_placement,
    check_workreplicaset,
    check_workstatus,
)
from tests.conformance.direct.ocm import check_rollout as check_ocm_rollout
from tests.conformance.door import (
    karmada as front_karmada,
)
from tests.conformance.door import (
    karmada_policies as front_karmada_policies,
)
from tests.conformance.door import (
    kubefleet as front_kubefleet,
)
from tests.conformance.door import (
    ocm as front_ocm,
)

Check = Callable[[Body], str | None]


@dataclass(frozen=True)
class Family:
    """How a family is checked: by the public function of its rule, and as a repository.

    `door` is `None` where no vector of the family is written as a repository; exceptions.json says
    why.
    """

    direct: Check
    door: Check | None = None


FAMILIES: Mapping[str, Family] = {
    "karmada/admission": Family(check_karmada_admission, front_karmada.check_admission),
    "karmada/bindingfromtemplate": Family(
        check_bindingfromtemplate, front_karmada_policies.check_bindingfromtemplate
    ),
    "karmada/detector": Family(check_detector),
    "karmada/gracefuleviction": Family(check_graceful, front_karmada.check_graceful),
    "karmada/policyadmission": Family(
        check_policyadmission, front_karmada_policies.check_policyadmission
    ),
    "karmada/policymatch": Family(check_policymatch, front_karmada_policies.check_policymatch),
    "karmada/rebalancer": Family(check_rebalancer, front_karmada_policies.check_rebalancer),
    "karmada/render": Family(check_render),
    "karmada/schedule": Family(check_schedule, front_karmada.check_schedule),
    "karmada/taintpolicy": Family(check_taintpolicy),
    "karmada/taints": Family(check_taints, front_karmada.check_taints),
    "ocm/enqueue": Family(check_events),
    "ocm/placement": Family(check_placement, front_ocm.check_placement),
    "ocm/rollout": Family(check_ocm_rollout),
    "ocm/workreplicaset": Family(check_workreplicaset),
    "ocm/workstatus": Family(check_workstatus),
    "kubefleet/admission": Family(check_admission, front_kubefleet.check_admission),
    "kubefleet/eviction": Family(check_eviction),
    "kubefleet/override": Family(check_override),
    "kubefleet/policysnapshot": Family(check_policysnapshot, front_kubefleet.check_policysnapshot),
    "kubefleet/resourcesnapshot": Family(
        check_resourcesnapshot, front_kubefleet.check_resourcesnapshot
    ),
    "kubefleet/resourceplacement": Family(
        check_resourceplacement, front_kubefleet.check_resourceplacement
    ),
    "kubefleet/rollout": Family(check_rollout),
    "kubefleet/schedule": Family(check_kubefleet_schedule, front_kubefleet.check_schedule),
    "kubefleet/updaterun": Family(check_updaterun),
}

_INPUTS = {
    "ocm": {"groups", "managedClusters", "manifestWork", "placementDecisions"},
    "kubefleet": {
        "eviction",
        "existing",
        "memberClusters",
        "objects",
        "policySnapshot",
        "resourceSnapshots",
        "snapshots",
    },
}


def dialect_of(case: Body) -> str:
    """Return the dialect of a vector: two name a family `schedule`, so the input decides."""
    given = case["input"]
    keys = set(given) if isinstance(given, Mapping) else set()
    return next((dialect for dialect, words in _INPUTS.items() if keys & words), "karmada")
