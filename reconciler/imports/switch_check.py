"""What of the switch from a live hub is not done yet: the steps of all APIs, and of each.

The hub runs beside us meanwhile: the check compares what it has decided since its decisions became
our state with what we would decide.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from reconciler.audit.fleet.placed import placed_on
from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world, world_after
from reconciler.delivery.settings import decode_delivery
from reconciler.dialects.contract import Dialect
from reconciler.dialects.importer import LEFT_TO_DO, LiveHub, StepState, SwitchStep, settled
from reconciler.imports.export import LiveObject
from reconciler.imports.importers import IMPORTERS, Wanted, adopted_by_all, is_made_by_others
from reconciler.imports.plan import Became, ImportedObject, ImportPlan, decisions_among
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import settings_in
from reconciler.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedOnHub:
    """A decision that the hub has otherwise than our state.

    Attributes:
        key: What the decision is about.
        live: Where the hub has it, nowhere if it has none any more.
        ours: Where our state has it.
        would: Where the next pass would have it, with what the hub has for inputs now.
    """

    key: ObjectKey
    live: Placed
    ours: Placed
    would: Placed


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """What a hub decided, compared with our state.

    Attributes:
        same: Decisions that are the same.
        moved: Those that differ, sorted.
        new: Those that are no state of ours, sorted.
        left: Live objects that could not become state, and why.
    """

    same: frozenset[ObjectKey] = frozenset()
    moved: tuple[MovedOnHub, ...] = ()
    new: tuple[ObjectKey, ...] = ()
    left: Mapping[ObjectKey, str]


def compare(
    world: World, live: Mapping[ObjectKey, Body], now: datetime, listed: Collection[Kind]
) -> Shadow:
    """Return how the live decisions of a hub differ from our state.

    Args:
        world: The repository, with everything of the hub that is imported.
        live: Every live object of the APIs.
        now: When the next pass would be.
        listed: Kinds of which everything is there, so what is missing is gone.
    """
    compared = PLACED - {k for importer in IMPORTERS.values() for k in importer.switch.following}
    adopted = adopted_by_all(world, live, now)
    outputs = adopted.outputs
    left = {**adopted.left, **{key: f"it lacks {one}" for key, one in adopted.lacking.items()}}
    there = world_after(replace(world, outputs={}), outputs, (), ())
    decided = {key for key in outputs if key[:2] in compared}
    apis = {key.group for key in live}
    gone = {
        key
        for key in world.outputs
        if key[:2] in compared and key[:2] in listed and key.group in apis and key not in live
    }
    asked = sorted(key for key in decided | gone if key in world.outputs)
    differing = [key for key in asked if placed_on(there, key) != placed_on(world, key)]
    after = next_world(world, reconcile(world, now)) if differing else world
    return Shadow(
        same=frozenset(asked) - frozenset(differing),
        moved=tuple(
            MovedOnHub(
                key=key,
                live=placed_on(there, key),
                ours=placed_on(world, key),
                would=placed_on(after, key),
            )
            for key in differing
        ),
        new=tuple(sorted(decided - world.outputs.keys())),
        left=dict(sorted((key, why) for key, why in left.items() if key not in world.outputs)),
    )


DEPLOYMENT = ("apps", "Deployment")
DIFFERS = (Became.CREATED, Became.UPDATED, Became.FAILED, Became.GONE)

IMPORT = "reconciler import, and merge what it writes"
WORKLOADS = "reconciler import --workloads TYPE,...; Secrets by hand, encrypted"
ADOPT = "reconciler import --adopt, and merge the state"
COMPARE = "remove their state files, and import --adopt again; or move them on the hub"
UNDELIVERED = SwitchStep(
    name="delivery", state=StepState.OPEN, now="configure delivery in reconciler.yaml"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchCheck:
    """How the switch from a hub of one API stands.

    Attributes:
        api: Its name.
        steps: In the order in which they are taken.
        moved: What the hub decided otherwise since, sorted.
    """

    api: str
    steps: tuple[SwitchStep, ...]
    moved: tuple[MovedOnHub, ...]

    @property
    def ready(self) -> bool:
        """Whether nothing is left to do that can be seen from the hub."""
        return not any(step.state in LEFT_TO_DO for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSeen:
    """What was read of a hub.

    Attributes:
        live: Everything that was read of it.
        host: Deployments of the cluster that runs it, `None` if that was not asked.
        whole: Whether every Deployment of the hub's own API server is among `live`.
    """

    live: Sequence[LiveObject]
    host: Sequence[LiveObject] | None = None
    whole: bool = False


def check_switch(
    world: World, plan: ImportPlan, seen: HubSeen, wanted: Wanted, now: datetime
) -> tuple[SwitchCheck, ...]:
    """Return how the switch stands for each API that was found, in the order of passes.

    Args:
        world: The repository as it is.
        plan: What an import would make of it.
        seen: What was read of the hub.
        wanted: What was asked of it.
        now: When the next pass would be.
    """
    live = decisions_among(seen.live)
    shadow = compare(plan.world, live, now, wanted.listed)
    dialects = [d for d in DIALECTS if any(key.group in d.groups for key in live)]
    return tuple(
        SwitchCheck(
            api=dialect.name,
            steps=tuple(_steps(dialect, world, plan, seen, live, shadow)),
            moved=tuple(one for one in shadow.moved if one.key.group in dialect.groups),
        )
        for dialect in dialects
    )


def _steps(
    dialect: Dialect,
    world: World,
    plan: ImportPlan,
    seen: HubSeen,
    live: Mapping[ObjectKey, Body],
    shadow: Shadow,
) -> Iterator[SwitchStep]:
    """Yield the steps of one API."""
    groups, switch = dialect.groups, dialect.importer().switch
    brought = {key for key in switch.brings(live) if not is_made_by_others(key, {})}
    differing = (one.key for one in plan.objects if _differs(one, groups, brought))
    yield settled("import", differing, IMPORT)
    yield settled("workloads", brought - plan.world.inputs.keys(), WORKLOADS)
    undone = {*shadow.new, *(key for key in shadow.left if key[:2] in PLACED)}
    yield settled("adopt", (key for key in undone if key.group in groups), ADOPT)
    moved = (one.key for one in shadow.moved if one.key.group in groups)
    yield settled("compare", moved, COMPARE)
    transports = {one.transport for one in decode_delivery(settings_in(world)).destinations}
    deployments = [one for one in (*seen.live, *(seen.host or ())) if one.key[:2] == DEPLOYMENT]
    hub = LiveHub(
        live={key: body for key, body in live.items() if key.group in groups},
        deployments={one.key: one.body for one in deployments},
        whole=seen.whole,
        host=seen.host is not None,
        by_agents=switch.agents in transports,
    )
    steps = switch.steps(hub)
    yield from (step for step in steps if not step.last)
    yield SwitchStep(name="delivery", state=StepState.DONE) if transports else UNDELIVERED
    yield from (step for step in steps if step.last)


def _differs(one: ImportedObject, groups: frozenset[str], brought: Collection[ObjectKey]) -> bool:
    """Return whether an object that people own here is otherwise on the hub.

    A workload that no decision brings anywhere, such as one of the control plane, is none of ours.
    """
    if one.key.reporter or one.became not in DIFFERS:
        return False
    if dialect_of(one.key.group) is None:
        return one.key in brought or one.became is not Became.CREATED
    return one.key.group in groups
