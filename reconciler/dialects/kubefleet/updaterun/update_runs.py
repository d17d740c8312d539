"""The runs of one placement: their files, what they name, and what people approved of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID, uuid5

from reconciler.dialects.kubefleet.api.kinds import SCOPES, kinds_in, placement_key
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.manifests.paths import is_frozen
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.world import Manifest, World

REQUESTS = frozenset((GROUP, kinds.approval_request) for kinds in SCOPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """One run and what belongs to it.

    Attributes:
        manifest: The run.
        own: Its status file, `None` without one.
        strategy: Spec of the strategy that it names, `None` if there is none.
        requests: The approval requests that it made, by key.
        approvals: What people say of requests of it, sorted.
        waiting: Whether it stays as it is, since something that it names cannot be read.
    """

    manifest: Manifest
    own: Body | None
    strategy: Body | None
    requests: Mapping[ObjectKey, Body]
    approvals: tuple[Manifest, ...]
    waiting: bool

    @property
    def present(self) -> dict[ObjectKey, Body]:
        """Its files, as they stand."""
        own = {} if self.own is None else {self.manifest.key: self.own}
        return {**self.requests, **own}

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All documents that it is decided from, but for those of the placement."""
        strategy = () if self.strategy is None else (self.strategy,)
        approvals = (one.body for one in self.approvals)
        return (self.manifest.body, *strategy, *approvals, *self.present.values())


@dataclass(frozen=True, slots=True)
class UpdateRuns:
    """The runs that name one placement, by key; `bodies` are all documents they depend on."""

    runs: tuple[RunFiles, ...] = ()

    @property
    def statuses(self) -> dict[ObjectKey, Body]:
        """Their files, as they stand."""
        return {key: body for one in self.runs for key, body in one.present.items()}

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All documents that they are decided from."""
        return tuple(body for one in self.runs for body in one.bodies)


NO_RUNS = UpdateRuns()


def runs_in(world: World) -> dict[ObjectKey, UpdateRuns]:
    """Return the runs of a world by the placement that they name.

    One whose status file cannot be read is left out, and stays as it is.
    """
    found: dict[ObjectKey, list[RunFiles]] = defaultdict(list)
    for kinds in SCOPES:
        runs = [one for one in world.of_kind(GROUP, kinds.run) if not is_frozen(world, one.key)]
        if not runs:
            continue
        kind = (GROUP, kinds.approval_request)
        requests = _by_run(world.outputs_of_kind(kind))
        approvals = _by_run(world.of_kind(*kind))
        for one in runs:
            spec = mapping(one.body, "spec")
            named = placement_key(one.key.namespace, text(spec, "placementName"))
            strategy = strategy_key(one)
            own = world.outputs.get(one.key)
            written = world.inputs.get(strategy)
            waiting = str(named) in world.in_doubt or str(strategy) in world.in_doubt
            files = RunFiles(
                manifest=one,
                own=None if own is None else own.body,
                strategy=None if written is None else mapping(written.body, "spec"),
                requests={made.key: made.body for made in requests.get(_place(one), ())},
                approvals=tuple(sorted(approvals.get(_place(one), ()), key=lambda it: it.key)),
                waiting=waiting,
            )
            found[named].append(files)
    return {key: UpdateRuns(tuple(runs)) for key, runs in found.items()}


def _place(run: Manifest) -> tuple[str, str]:
    return run.key.namespace, run.key.name


def strategy_key(run: Manifest) -> ObjectKey:
    """Return the key of the strategy that a run names."""
    name = text(mapping(run.body, "spec"), "stagedRolloutStrategyName")
    kind = kinds_in(run.key.namespace).update_strategy
    return ObjectKey(GROUP, kind, run.key.namespace, name)


def _by_run(requests: Iterable[Manifest]) -> dict[tuple[str, str], list[Manifest]]:
    found: dict[tuple[str, str], list[Manifest]] = defaultdict(list)
    for one in requests:
        name = text(mapping(one.body, "spec"), "parentStageRollout")
        found[one.key.namespace, name].append(one)
    return found


def stray_files(world: World) -> Iterator[ObjectKey]:
    """Yield the files of runs that are gone: their status, and the requests that they made."""
    for kinds in SCOPES:
        for own in world.outputs_of_kind((GROUP, kinds.run)):
            if own.key not in world.inputs:
                yield own.key
        for made in world.outputs_of_kind((GROUP, kinds.approval_request)):
            name = text(mapping(made.body, "spec"), "parentStageRollout")
            run = ObjectKey(GROUP, kinds.run, made.key.namespace, name)
            if run not in world.inputs:
                yield made.key


def run_uid(key: ObjectKey, created: str) -> str:
    """Return the uid of a run, by which approvals name it.

    Unlike all other uids here, it depends on when the run was first seen: one that is made anew
    under the same name is another run, and what people approved of the one before says nothing of
    it.

    Args:
        key: The run.
        created: Text of its creationTimestamp.

    Source: ours.
    """
    return str(uuid5(UUID(uid_of(key)), created))
