"""The switch from a Karmada hub: what of it is not done yet, as far as kubectl shows it."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.dialects.hub_switch import (
    HubSwitch,
    LiveHub,
    StepState,
    SwitchStep,
    running,
    settled,
    stopped,
)
from reconciler.dialects.karmada.api.binding import workload_key
from reconciler.dialects.karmada.api.groups import CLUSTER, WORK_GROUP
from reconciler.dialects.karmada.api.work.binding_metadata import BINDING, CLUSTER_BINDING
from reconciler.dialects.karmada.api.work.work_spec import is_passed_over, keeps_objects
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.identity import ObjectKey

WORK = "Work"
WORKS_OF = "karmada-es-{}"
HOME = "karmada-system"
TRANSPORT = "works"
CONTROLLERS = "--controllers="
WRITE_WORKS = ("binding", "namespace")
"""The controllers that write Works; the one that applies them to Push clusters is `execution`."""

SHOW = "show the cluster that runs Karmada: --host-context, or its Deployments as a file"
PRESERVE = "set preserveResourcesOnDeletion: true in the policies, while the controllers run"
PRESERVE_WORKS = "set spec.preserveResourcesOnDeletion: true in these Works"
SUSPEND = (
    "stop karmada-agent in these Pull clusters, and set spec.suspendDispatching: true in Works"
)


def steps(hub: LiveHub) -> tuple[SwitchStep, ...]:
    """Return the steps on the hub, in order.

    Whether Works go on without an object of theirs they say themselves, so what counts is what they
    say and not the policy. The scheduler goes first, since it would move what is compared; the
    descheduler asks it to.
    """
    seen = hub.host or hub.has_namespace(HOME)
    schedulers = running(hub, lambda key: _is(key, "scheduler"))
    deschedulers = running(hub, lambda key: _is(key, "descheduler"))
    off = (*WRITE_WORKS, *(() if hub.by_agents else ("execution",)))
    controllers = running(hub, _is_controller_manager, lambda body: _runs_any(body, off))
    return (
        _kept(hub),
        stopped("scheduler", (*schedulers, *deschedulers), seen=seen, show=SHOW),
        stopped("controllers", controllers, seen=seen, show=SHOW),
        settled("agents", _dispatched(hub), SUSPEND),
    )


def _is(key: ObjectKey, part: str) -> bool:
    """Return whether a Deployment is a part of Karmada, whoever installed it, under which name."""
    return "karmada" in key.name and key.name.endswith(f"-{part}")


def _is_controller_manager(key: ObjectKey) -> bool:
    """Return whether a Deployment is Karmada's own; Kubernetes' collects garbage, and stays."""
    return _is(key, "controller-manager") and not _is(key, "kube-controller-manager")


def _runs_any(body: Body, names: tuple[str, ...]) -> bool:
    """Return whether a karmada-controller-manager runs one of some controllers."""
    template = mapping(mapping(mapping(body, "spec"), "template"), "spec")
    for container in bodies(template, "containers"):
        for word in (*strings(container, "command"), *strings(container, "args")):
            if word.startswith(CONTROLLERS):
                listed = word.removeprefix(CONTROLLERS).split(",")
                return any(_is_enabled(name, listed) for name in names)
    return True


def _is_enabled(name: str, listed: Sequence[str]) -> bool:
    """Return whether a controller runs; the first word that names it decides.

    Source: karmada@f8fdd02 pkg/controllers/context/context.go `IsControllerEnabled`.
    """
    said = next((word for word in listed if word in (name, f"-{name}")), None)
    return "*" in listed if said is None else said == name


def _kept(hub: LiveHub) -> SwitchStep:
    """Return whether objects stay in clusters when their Work or binding goes."""
    if hub.by_agents:
        return SwitchStep(name="keep", state=StepState.DONE)
    found = hub.of_kind(WORK_GROUP, BINDING, CLUSTER_BINDING, WORK)
    left = [key for key, body in found.items() if not keeps_objects(body)]
    by_policy = any(key.kind != WORK for key in left)
    return settled("keep", left, PRESERVE if by_policy else PRESERVE_WORKS)


def _dispatched(hub: LiveHub) -> Iterator[ObjectKey]:
    """Yield the Works that the agent of a Pull cluster applies."""
    if hub.by_agents:
        return
    pulling = {
        WORKS_OF.format(key.name)
        for key, body in hub.of_kind(*CLUSTER).items()
        if text(mapping(body, "spec"), "syncMode") == "Pull"
    }
    for key, body in hub.of_kind(WORK_GROUP, WORK).items():
        if key.namespace in pulling and not is_passed_over(body):
            yield key


def brings(live: Mapping[ObjectKey, Body]) -> Iterator[ObjectKey]:
    """Yield the workloads of the live bindings."""
    for key, body in live.items():
        if key.group == WORK_GROUP and key.kind in (BINDING, CLUSTER_BINDING):
            yield workload_key(body)


SWITCH = HubSwitch(steps=steps, brings=brings, agents=TRANSPORT)
