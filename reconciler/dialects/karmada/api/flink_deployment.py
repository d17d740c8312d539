"""FlinkDeployment: one number of replicas for two sorts of pods, each as large as the larger."""

from collections.abc import Iterable
from math import ceil

from reconciler.dialects.karmada.api.replica_requirements import (
    ReplicaRequirements,
    count_of,
    requirements_of,
)
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.quantity import Quantity
from reconciler.schedule.capacity.pod_requests import amounts_of

API_VERSION = "flink.apache.org/v1beta1"
KIND = "FlinkDeployment"
SLOTS = "taskmanager.numberOfTaskSlots"
MANAGERS = ("jobManager", "taskManager")


def flink_demand(body: Body) -> ReplicaRequirements:
    """Return what a FlinkDeployment asks for.

    Where the number of task managers is not written, it follows from parallelism and slots.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/thirdparty/resourcecustomizations
    flink.apache.org/v1beta1/FlinkDeployment `GetReplicas`.
    """
    jobs = at(body, "spec", "jobManager").get("replicas")
    replicas = (1 if jobs is None else count_of(jobs)) + _task_managers(body)
    pod = at(body, "spec", "podTemplate", "spec")
    placed = {name: pod[name] for name in ("nodeSelector", "tolerations") if name in pod}
    asked = (at(body, "spec", manager, "resource") for manager in MANAGERS)
    return ReplicaRequirements(replicas, requirements_of(placed, _largest(asked)))


def _task_managers(body: Body) -> int:
    """Return how many task managers there are."""
    written = at(body, "spec", "taskManager").get("replicas")
    if written is not None:
        return count_of(written)
    parallelism = _number(at(body, "spec", "job").get("parallelism"))
    slots = _number(at(body, "spec", "flinkConfiguration").get(SLOTS))
    return ceil(parallelism / slots) if parallelism and slots else 1


def _number(value: object) -> int:
    """Return a number, that of a text, too: Flink's own configuration has texts only."""
    return int(value) if isinstance(value, str) and value.isdecimal() else count_of(value)


def _largest(resources: Iterable[Body]) -> dict[str, Quantity]:
    """Return of each resource the most that one pod asks for."""
    most: dict[str, Quantity] = {}
    for asked in resources:
        for name, amount in amounts_of(asked).items():
            if name in ("cpu", "memory"):
                most[name] = max(most.get(name, amount), amount)
    return most
