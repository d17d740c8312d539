"""The switch from a live hub, as far as its API server shows it: the steps, and how each stands."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from reconciler.model.body import Body
from reconciler.model.fields import mapping, number, number_or_none
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind


class StepState(StrEnum):
    """How a step stands.

    `unseen` can be shown, and was not; `members` is to be looked at in the member clusters.
    """

    DONE = "done"
    OPEN = "open"
    UNSEEN = "unseen"
    MEMBERS = "members"


LEFT_TO_DO = frozenset({StepState.OPEN, StepState.UNSEEN})
"""What keeps a switch from being ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchStep:
    """One step.

    Attributes:
        name: One word, the same for each API.
        state: How it stands.
        now: What to do about it, `""` if nothing.
        objects: Those that it is open for, sorted.
        last: Whether it is taken once we deliver.
    """

    name: str
    state: StepState
    now: str = ""
    objects: tuple[ObjectKey, ...] = ()
    last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveHub:
    """What is seen of a hub.

    Attributes:
        live: Every object of an API that it has.
        deployments: Deployments that run its control plane, and maybe others.
        whole: Whether those of its own API server are all there.
        host: Whether those of the cluster that runs it are all there, where that is another one.
        by_agents: Whether we deliver by the agents of the hub, which then stay.
    """

    live: Mapping[ObjectKey, Body]
    deployments: Mapping[ObjectKey, Body]
    whole: bool = False
    host: bool = False
    by_agents: bool = False

    def of_kind(self, group: str, *kinds: str) -> dict[ObjectKey, Body]:
        """Return the live objects of some kinds, sorted."""
        return {k: self.live[k] for k in sorted(self.live) if k.group == group and k.kind in kinds}

    def has_namespace(self, *names: str) -> bool:
        """Return whether a Deployment stands in one of some namespaces."""
        return any(key.namespace in names for key in self.deployments)


def _no_steps(_hub: LiveHub) -> tuple[SwitchStep, ...]:
    return ()


def _nothing(_live: Mapping[ObjectKey, Body]) -> Iterable[ObjectKey]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSwitch:
    """What an API knows of its own hub.

    Attributes:
        steps: Returns the steps on the hub, in the order in which they are taken.
        brings: Returns what its decisions bring to clusters, which the repository has to hold.
        agents: The transport by which its own agents apply what we decide, `""` if there is none.
        following: Kinds whose decisions follow from others, which are compared instead.
    """

    steps: Callable[[LiveHub], tuple[SwitchStep, ...]] = _no_steps
    brings: Callable[[Mapping[ObjectKey, Body]], Iterable[ObjectKey]] = _nothing
    agents: str = ""
    following: frozenset[Kind] = frozenset()


def running(
    hub: LiveHub, is_one: Callable[[ObjectKey], bool], works: Callable[[Body], bool] | None = None
) -> tuple[ObjectKey, ...]:
    """Return the Deployments of a control plane that are not stopped, sorted.

    One is stopped that wants no replicas and has none left.

    Args:
        hub: The hub.
        is_one: Whether a Deployment is meant.
        works: Returns whether one that runs does what is to be stopped; `None` if it always does.
    """
    return tuple(
        key
        for key, body in sorted(hub.deployments.items())
        if is_one(key) and _has_replicas(body) and (works is None or works(body))
    )


def _has_replicas(body: Body) -> bool:
    wanted = number_or_none(mapping(body, "spec"), "replicas")
    return wanted != 0 or number(mapping(body, "status"), "replicas") > 0


def stopped(name: str, found: Collection[ObjectKey], *, seen: bool, show: str) -> SwitchStep:
    """Return the step that stops some Deployments.

    Args:
        name: Of the step.
        found: Those that run, in the order in which they are stopped.
        seen: Whether one that is not among them does not exist.
        show: How to show them.
    """
    if found:
        now = "stop " + ", then ".join(f"{key.namespace}/{key.name}" for key in found)
        return SwitchStep(name=name, state=StepState.OPEN, now=now, objects=tuple(sorted(found)))
    if not seen:
        return SwitchStep(name=name, state=StepState.UNSEEN, now=show)
    return SwitchStep(name=name, state=StepState.DONE)


def settled(
    name: str,
    left: Iterable[ObjectKey],
    now: str,
    *,
    state: StepState = StepState.OPEN,
    last: bool = False,
) -> SwitchStep:
    """Return the step that is done once nothing is left, and stands so until then."""
    objects = tuple(sorted(left))
    if not objects:
        return SwitchStep(name=name, state=StepState.DONE, last=last)
    return SwitchStep(name=name, state=state, now=now, objects=objects, last=last)
