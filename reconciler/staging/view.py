"""Columns, events and references of staged deliveries, and what their runs wait for.

Events say how far a run is, in the words of its record.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

from reconciler.manifests.columns import FILE, NONE, ColumnTable, Row, age, printed
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.body import Body
from reconciler.model.decision import NORMAL, WARNING, ObjectEvent, OutputChange, UpstreamEvent
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.moments import FIRST, format_moment
from reconciler.model.text import enumerated, short_id
from reconciler.model.world import Manifest, World
from reconciler.staging.staged_delivery import (
    AFTER,
    BEFORE,
    STAGED_DELIVERY,
    ContentRun,
    RunState,
    StagedRecord,
    StageProgress,
    decode_staged_delivery,
    left_to_others,
    readable_staged_record,
    staging_owners,
)

MOST_NAMED = 100  # a plan names every cluster; a line has its limits


def _updated(row: Row) -> str:
    """Return how many clusters were given the new version, of all that are to have it."""
    record = readable_staged_record(row.body)
    if record.run is None:
        return NONE
    given = record.run.given
    waiting = {name for one in record.objects.values() for name in one.before} - given
    return f"{len(given)}/{len(given | waiting)}"


def _reason(row: Row) -> str:
    run = readable_staged_record(row.body).run
    return NONE if run is None or not run.reason else run.reason


COLUMNS: ColumnTable = {
    STAGED_DELIVERY: (
        (
            ("RUN", printed(".status.run.id")),
            ("STATE", printed(".status.run.state")),
            ("UPDATED", _updated),
            ("AGE", age),
        ),
        (("REASON", _reason), FILE),
    )
}
"""By kind."""


def events_of(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield how far the run of a staged delivery came, and what left it for good."""
    key = change.key
    then, now = (readable_staged_record(one) for one in (change.before, change.after))
    for released in sorted(then.objects.keys() - now.objects.keys()) if change.after else ():
        what = f"changes of {released.plain} are not held back any more"
        message = f"{what}: it is not selected, or gone"
        yield key, UpstreamEvent(WARNING, "ObjectReleased", message)
    yield from _events_of_run(key, then.run, now.run)


def _events_of_run(
    key: ObjectKey, before: ContentRun | None, after: ContentRun | None
) -> Iterator[ObjectEvent]:
    """Yield how far a run came."""
    if after is None:
        return
    then = before if before is not None and before.id == after.id else None
    if then is None:
        message = f"Run {after.id} begins: {_plan(after)}"
        yield key, UpstreamEvent(NORMAL, "RunStarted", message)
    known = {} if then is None else {one.name: one for one in then.stages}
    for stage in after.stages:
        for reason, message in _happened(known.get(stage.name), stage):
            yield key, UpstreamEvent(NORMAL, reason, message)
    if then is None or then.state is not after.state:
        yield from _ended(key, after, resumed=then is not None)


def _plan(run: ContentRun) -> str:
    """Return which clusters are updated in which order, and which in no stage."""
    stages = [
        f"stage {one.name} ({_clusters((*(done.name for done in one.clusters), *one.waiting))})"
        for one in run.stages
        if one.clusters or one.waiting
    ]
    outside = f"in no stage, so nothing changes there ({_clusters(run.outside)})"
    return ", ".join((*stages, *([outside] if run.outside else [])))


def _clusters(names: Sequence[str]) -> str:
    """Return how many clusters there are, and their names."""
    count = f"{len(names)} cluster{'' if len(names) == 1 else 's'}"
    return f"{count}: {enumerated(sorted(names), MOST_NAMED)}"


def _happened(then: StageProgress | None, stage: StageProgress) -> Iterator[tuple[str, str]]:
    """Yield what became of a stage."""
    for task in sorted(stage.approved - (frozenset() if then is None else then.approved)):
        yield "StageApproved", f"Task {task} of stage {stage.name} is approved"
    if stage.started_at is not None and (then is None or then.started_at is None):
        yield "StageStarted", f"Stage {stage.name} begins"
    if stage.ended_at is not None and (then is None or then.ended_at is None):
        yield "StageSucceeded", f"Stage {stage.name} is over"


def _ended(key: ObjectKey, run: ContentRun, *, resumed: bool) -> Iterator[ObjectEvent]:
    if run.state is RunState.FINISHED:
        yield (
            key,
            UpstreamEvent(
                NORMAL, "RunFinished", f"Run {run.id} is over: no cluster has another version"
            ),
        )
    elif run.state is RunState.LEFT:
        message = f"Run {run.id} is left, and its clusters keep what they have: {run.reason}"
        yield key, UpstreamEvent(WARNING, "RunLeft", message)
    elif run.state is RunState.UPDATING and resumed:
        yield key, UpstreamEvent(NORMAL, "RunResumed", f"Run {run.id} goes on")
    elif run.state is RunState.STOPPED:
        yield key, UpstreamEvent(WARNING, "RunStopped", f"Run {run.id} is stopped: {run.reason}")
    elif run.state is RunState.ROLLED_BACK:
        message = f"Run {run.id} is rolled back: each cluster has what it had"
        yield key, UpstreamEvent(WARNING, "RunRolledBack", message)


def waiting_in(world: World) -> Iterator[tuple[ObjectKey, str]]:
    """Yield the staged deliveries whose runs wait for a person, each with a clause for what."""
    for output in world.outputs_of_kind(STAGED_DELIVERY):
        run = readable_staged_record(output.body).run
        if output.key not in world.inputs or run is None:
            continue
        if run.awaited_approval is not None:
            yield output.key, f"{run.reason.removeprefix('waits for ')} (run {run.id})"


def progress_facts(record: Body) -> Mapping[str, str]:
    """Return how far the run of a staged delivery is, and each stage of it, by name."""
    run = readable_staged_record(record).run
    if run is None:
        return {}
    reason = f": {run.reason}" if run.reason else ""
    facts = {"run": f"{run.id} {run.state}{reason}"}
    for stage in run.stages:
        done = sum(one.ended_at is not None and not one.failure for one in stage.clusters)
        failed = sum(bool(one.failure) for one in stage.clusters)
        told = f"{done} of {len(stage.clusters) + len(stage.waiting)} updated"
        facts[f"stage {stage.name}"] = f"{told}, {failed} failed" if failed else told
    return facts


def held_in(world: World) -> dict[ObjectKey, dict[ClusterName, str]]:
    """Return the clusters that keep an earlier version, by object, each with a clause why."""
    held: dict[ObjectKey, dict[ClusterName, str]] = {}
    for output in world.outputs_of_kind(STAGED_DELIVERY):
        record = readable_staged_record(output.body)
        for key, found in record.objects.items():
            for cluster, had in sorted(found.before.items()):
                if not record.version_on(key, cluster).is_like(found.version):
                    why = _held(output.key.name, record.run, cluster, left=found.left)
                    told = f"{why}; it has what {short_id(had.revision)} brought"
                    held.setdefault(key, {}).setdefault(cluster, told)
    return held


def runs_in(
    world: World, find_strategy: Callable[[World, str], Manifest | None]
) -> Iterator[tuple[ObjectKey, tuple[str, ...]]]:
    """Yield the objects that runs change, or hold, each with how far that is, a sentence each.

    Args:
        world: As it is.
        find_strategy: Returns the strategy of a name, `None` if there is none.
    """
    for output in world.outputs_of_kind(STAGED_DELIVERY):
        record, name = readable_staged_record(output.body), output.key.name
        run = record.run
        manifest = world.inputs.get(output.key)
        strategy = None
        if run is not None and manifest is not None:
            strategy = find_strategy(world, decode_staged_delivery(manifest.body).strategy)
        lines = () if run is None else tuple(_lines(name, run, strategy))
        for key, found in record.objects.items():
            if found.before and not found.left and lines:
                yield key, (*lines, *_had(record, key))


def _lines(name: str, run: ContentRun, strategy: Manifest | None) -> Iterator[str]:
    """Yield how far a run is: itself, then stage by stage; some may be in no strategy any more."""
    from reconciler.staging.strategy import decode_stages  # noqa: PLC0415  # no column needs it

    spec = {} if strategy is None else mapping(strategy.body, "spec")
    present = {one.name for one in decode_stages(spec)}
    reason, begun = f": {run.reason}" if run.reason else "", format_moment(run.started_at)
    state = f"is {run.state}"
    if run.ended_at is not None:
        state = f"has been {run.state} since {format_moment(run.ended_at)}"
    yield f"The run {run.id} of StagedDelivery {name}, begun at {begun}, {state}{reason}."
    if run.awaited_approval is not None:
        waiting, task = run.awaited_approval
        when = "before" if task == BEFORE else "after"
        yield f"To approve it: reconciler rollout approve {name} {waiting} --task {when}."
    for stage in run.stages:
        clusters = "; ".join(_clusters_of(stage)) or "no cluster"
        gone = "" if strategy is None or stage.name in present else ", not in the strategy any more"
        yield f"Stage {stage.name}{_approved(stage)}{gone}: {clusters}."
    if run.outside:
        yield f"In no stage, so nothing changes there: {enumerated(run.outside, MOST_NAMED)}."


def _approved(stage: StageProgress) -> str:
    words = {BEFORE: "before", AFTER: "after"}
    tasks = [word for task, word in words.items() if task in stage.approved]
    return f" (approved {' and '.join(tasks)} it)" if tasks else ""


def _clusters_of(stage: StageProgress) -> Iterator[str]:
    """Yield what became of the clusters of a stage, and that it is over."""
    for one in stage.clusters:
        if one.failure:
            yield f"{one.name} failed, {one.failure}"
        elif one.ended_at is not None:
            yield f"{one.name} has run it since {format_moment(one.ended_at)}"
        else:
            yield f"{one.name} was given it at {format_moment(one.started_at)}"
    if stage.waiting:
        yield f"{enumerated(stage.waiting, MOST_NAMED)} to come"
    if stage.ended_at is not None:
        yield f"over since {format_moment(stage.ended_at)}"


def _had(record: StagedRecord, key: ObjectKey) -> Iterator[str]:
    """Yield which clusters are held at an earlier version of an object."""
    found = record.objects[key]
    held: dict[str, list[ClusterName]] = {}
    for cluster in sorted(found.before):
        version = record.version_on(key, cluster)
        if not version.is_like(found.version):
            held.setdefault(short_id(version.revision), []).append(cluster)
    for revision, clusters in held.items():
        yield f"Held at {revision}: {enumerated(clusters, MOST_NAMED)}."


def _held(name: str, run: ContentRun | None, cluster: ClusterName, *, left: bool) -> str:
    """Return why a cluster keeps an earlier version."""
    if left or run is None:
        return f"another change: the StagedDelivery {name} stages it no more"
    if run.state is RunState.STOPPED:
        return f"the run {run.id} of {name}, which is stopped"
    if run.state is not RunState.UPDATING:
        return f"another change: the run {run.id} of {name} is rolled back"
    stage = next((one.name for one in run.stages if cluster in one.waiting), "")
    return f"stage {stage} of {name}" if stage else f"a stage of {name} that selects it"


def _selecting_nothing(
    world: World, manifest: Manifest, staged: Container[Kind]
) -> Iterator[Dangling]:
    """Yield that a staged delivery selects nothing of what people wrote."""
    selector, apis = decode_staged_delivery(manifest.body).selector, world.known.groups
    inputs = world.inputs.values()
    objects = [one for one in inputs if selector.may_select(one.key[:2], apis, staged)]
    if any(map(selector.selects, objects)):
        return
    kinds = {one.key.kind for one in objects}
    yield Dangling(
        manifest.key,
        "/spec/selector",
        "staged-nothing",
        "the selector selects nothing in this repository, so nothing is staged",
        "a selector of objects that are here"
        if selector.kind in kinds
        else proposal(selector.kind, kinds, "kind"),
    )


def dangling_in_staged_deliveries(
    known: Known,
    strategies: Collection[Kind],
    staged: Container[Kind],
    transports: Collection[str],
    unstaged: str,
    rolled_out: Callable[[Known], Iterable[tuple[ObjectKey, ObjectKey]]],
    *,
    foreseen: bool,
) -> Iterator[Dangling]:
    """Yield which staged deliveries select nothing, and that nothing carries what they stage.

    Args:
        known: What may be referred to.
        strategies: The kinds of strategies.
        staged: The kinds of APIs that have content.
        transports: The names of the transports in use.
        unstaged: The name of the one that carries no content.
        rolled_out: Yields the objects that APIs roll out by themselves, each with what does so.
        foreseen: With what passes say by themselves: a strategy that is missing, orders in vain,
            and objects that are for others to stage or to roll out.
    """
    if foreseen:
        yield from _for_others(known, staged, rolled_out)
    for manifest in known.of_kind(*STAGED_DELIVERY):
        if foreseen:
            yield from _foreseen(known, manifest, strategies)
        yield from _selecting_nothing(known.world, manifest, staged)
        if not set(transports) - {unstaged}:
            what = (
                f"the transport {unstaged} carries no content"
                if transports
                else ("nothing is delivered")
            )
            message = f"{what}, so nothing is staged"
            expected = "a transport that delivers manifests, such as folders"
            yield Dangling(manifest.key, "/spec", "staged-undelivered", message, expected)
        elif unstaged in transports:
            message = f"the transport {unstaged} carries no content: what reads it is not staged"
            expected = "a transport that delivers manifests, such as folders, by itself"
            yield Dangling(manifest.key, "/spec", "staged-undelivered", message, expected)


def _for_others(
    known: Known,
    staged: Container[Kind],
    rolled_out: Callable[[Known], Iterable[tuple[ObjectKey, ObjectKey]]],
) -> Iterator[Dangling]:
    """Yield what staged deliveries select that another one stages, or that is rolled out anyway."""
    apis, outputs = known.world.known.groups, known.world.outputs
    selected: dict[ObjectKey, list[ObjectKey]] = {}
    for manifest in known.of_kind(*STAGED_DELIVERY):
        selector = decode_staged_delivery(manifest.body).selector
        selected[manifest.key] = [
            key
            for key, one in known.world.inputs.items()
            if selector.may_select(key[:2], apis, staged) and selector.selects(one)
        ]
    if not any(selected.values()):
        return
    records = {key: readable_staged_record(outputs[key].body) for key in selected if key in outputs}
    owners, by_itself = staging_owners(selected, records), dict(sorted(rolled_out(known))[::-1])
    for who, keys in selected.items():
        for one in left_to_others(who, keys, owners, by_itself.get)[1]:
            yield Dangling(who, one.pointer, one.rule, one.message, one.expected)


def _foreseen(known: Known, manifest: Manifest, strategies: Collection[Kind]) -> Iterator[Dangling]:
    """Yield that a strategy is missing, or which orders have no effect on the run as it is."""
    from reconciler.staging.content_run import GivenDelivery  # noqa: PLC0415  # no column needs it
    from reconciler.staging.strategy import (  # noqa: PLC0415  # likewise
        decode_stages,
        missing_strategy,
    )

    asked = decode_staged_delivery(manifest.body)
    names = {one for kind in strategies for one in known.names(*kind)}
    if asked.strategy not in names:
        one = missing_strategy(asked.strategy, names, strategies)
        yield Dangling(manifest.key, one.pointer, one.rule, one.message, one.expected)
    keys = (ObjectKey(*kind, "", asked.strategy) for kind in strategies)
    strategy = next(filter(None, map(known.world.inputs.get, keys)), None)
    world = known.world
    if not (world.outputs or world.present):
        return  # no pass has written here, so nobody knows which runs there are
    output = world.outputs.get(manifest.key)
    run = None if output is None else readable_staged_record(output.body).run
    stages = () if strategy is None else decode_stages(mapping(strategy.body, "spec"))
    moment = FIRST if run is None else run.started_at
    given, _ = GivenDelivery.admitted(manifest, asked, output, stages, moment)
    for one in given.obeyed(run, moment)[1]:
        yield Dangling(manifest.key, one.pointer, one.rule, one.message, one.expected)
