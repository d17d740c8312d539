"""The brake by effect: an edit that would take most of what runs takes nothing, and asks.

One word in a policy, or one label of a cluster, can leave thousands of workloads nowhere while no
file is gone. So a pass that takes replicas without placing as many elsewhere is compared with the
same pass over the world in which people place as they did before. What only the edit takes counts:
not what fails, is evicted, expires, moves, or is scaled by its own manifest, for that pass takes it
as well. Beyond the limit of `safety.maxLostPercent` these objects have what that other pass decides
of them: their placement stays as it was, and everything else goes on by it, failover included.

It holds until the edit is mended or let through: which versions are meant stands in `faults.yaml`,
so that the next pass finds them although it was not there when they were edited.

Source: ours; users of Argo CD ask for it (argo-cd issues 3484 and 16063).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

from reconciler.core.dialects import CLUSTERS, DIALECTS, PLACED, ROOTS, dialect_of
from reconciler.core.inputs.last_known_good import placing_as
from reconciler.core.inputs.world import seen_themselves, with_projected
from reconciler.core.ledger_file import (
    LEDGER,
    ClusterLedger,
    EncodedReservations,
    decode_ledger,
    encode_ledger,
)
from reconciler.core.rounds import Round
from reconciler.core.safety import FEWEST, FEWEST_OF_ALL, NAMED, is_of
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.decision import Decision
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import earliest
from reconciler.model.records import dataclass, replace
from reconciler.model.remembered import branched
from reconciler.model.settings import CONFIGURATION_PATH, Safety
from reconciler.model.text import enumerated
from reconciler.model.world import Fault, HeldFile, Manifest, World

LOSS_BRAKED = "loss-braked"


@dataclass(frozen=True, slots=True)
class KeptPlacements:
    """What a pass decides, and what an edit would take and does not get.

    Attributes:
        result: Of the pass.
        held: The decisions, by what they are about, that stay with the placement of before.
        versions: The documents by whose earlier versions they are placed, sorted.
        faults: What to tell.
    """

    result: Round
    held: frozenset[ObjectKey] = frozenset()
    versions: tuple[HeldFile, ...] = ()
    faults: tuple[Fault, ...] = ()


def keep_placements(
    world: World, edited: Round, safety: Safety, decide: Callable[[World], Round]
) -> KeptPlacements:
    """Keep the placements that an edit would take, where it takes too much.

    What counts is what stays by the placement of before, so that the next pass, which finds it
    so, counts the same. An edit that is held already goes on being so, however much the fleet grew.

    Args:
        world: As the pass finds it.
        edited: What it decides.
        safety: How much an edit may take.
        decide: Returns what a pass decides in another world; asked only where much is taken.
    """
    taking = [one for one in edited.results.decisions if one.lost] if world.former else []
    held_already = _is_held(world, world.former)
    if not taking or not (held_already or _is_too_much(world, taking, safety)):
        return KeptPlacements(edited)
    before = decide(_placed_as_before(world))
    losing = list(_taken_by_edits(taking, before))
    versions = tuple(_behind(world, edited, losing)) if losing else ()
    if not losing or not (_is_held(world, versions) or _is_too_much(world, losing, safety)):
        return KeptPlacements(edited)
    allow = digest(sorted([str(one.key), name] for one in losing for name in _left(one)))
    if allow in safety.allow:
        return KeptPlacements(edited)
    held = frozenset(one.key for one in losing)
    return KeptPlacements(
        result=_with_kept(world, edited, before, held),
        held=held,
        versions=_files_of(world, versions),
        faults=(_fault(world, losing, versions, allow),),
    )


def _placed_as_before(world: World) -> World:
    """Return the world in which people place as they did before their last edits."""
    inputs = world.inputs
    came = {
        key: placing_as(inputs[key], version.manifest)
        for key, version in world.former.items()
        if version.manifest is not None and key in inputs
    }
    gone = [key for key, version in world.former.items() if version.manifest is None]
    return with_projected(
        replace(
            world,
            inputs=branched(inputs, came, gone),
            kinds=world.kinds.next(),
            output_kinds=world.output_kinds.next(),
        ),
        seen_themselves(world),
    )


def _taken_by_edits(taking: Iterable[Decision], before: Round) -> Iterator[Decision]:
    """Yield what edits take: decisions that start from where the pass of before leaves them."""
    otherwise = {one.key: one for one in before.results.decisions}
    for decision in taking:
        other = otherwise.get(decision.key)
        stays = decision.before if other is None else other.after
        taken = replace(decision, before=stays)
        if taken.lost:
            yield taken


def _with_kept(world: World, edited: Round, before: Round, held: Collection[ObjectKey]) -> Round:
    """Return what a pass decides, but of some objects what it decides in the world of before.

    Args:
        world: As the pass finds it.
        edited: What it decides.
        before: What it decides in the world in which people place as before.
        held: What the decisions are about that stay with the placement of before.
    """

    def is_held(key: ObjectKey, body: Body) -> bool:
        dialect = dialect_of(key.group)
        follows = () if dialect is None else dialect.view().outputs.follows(body)
        return is_of(key, body, held) or any(one in held for one in follows)

    outputs = world.outputs
    written = {key: body for key, body in edited.written.items() if not is_held(key, body)}
    written |= {key: body for key, body in before.written.items() if is_held(key, body)}
    gone = {key for key in edited.gone if not is_held(key, outputs[key].body)}
    gone |= {key for key in before.gone if is_held(key, outputs[key].body)}
    ledgers = _joined_ledgers(
        outputs, (edited.written, before.written), (edited.gone, before.gone), held
    )
    written |= {key: body for key, body in ledgers.items() if body is not None}
    lost = {key for key, body in ledgers.items() if body is None}
    gone = (gone - ledgers.keys()) | (lost & outputs.keys())
    own, others = before.results, edited.results
    decisions = [one for one in others.decisions if one.key not in held]
    decisions += [one for one in own.decisions if one.key in held]
    waits = [one for one in others.waits if one.key not in held]
    waits += [one for one in own.waits if one.key in held]
    explained = {key: own.explanations[key] for key in held if key in own.explanations}
    return replace(
        edited,
        written={key: body for key, body in written.items() if key not in lost},
        gone=frozenset(gone),
        results=replace(
            others,
            decisions=tuple(sorted(decisions, key=lambda one: one.key)),
            waits=tuple(sorted(waits)),
            until=earliest(others.until, own.until),
            explanations={**others.explanations, **explained},
        ),
    )


def _left(decision: Decision) -> Iterator[str]:
    """Yield the clusters that have fewer replicas afterwards."""
    after = dict(decision.after)
    for name, count in decision.before:
        if name not in after or after[name] < count:
            yield name


def _is_held(world: World, versions: Iterable[ObjectKey]) -> bool:
    """Return whether an edit is held already, and nobody edited the document again."""
    return any(
        world.former[key].is_kept and world.inputs[key].origin.path not in world.edited
        for key in versions
        if key in world.inputs
    )


def _is_too_much(world: World, losing: Collection[Decision], safety: Safety) -> bool:
    """Return whether decisions take more than the limit, or all there is."""
    placements, replicas = _placed_in(world)
    limit = safety.max_lost_percent
    emptied = sum(not decision.after for decision in losing)
    everything = limit < 100 and FEWEST_OF_ALL <= placements <= emptied  # percent
    return everything or (
        placements >= FEWEST and sum(one.lost for one in losing) * 100 > replicas * limit
    )


def _placed_in(world: World) -> tuple[int, int]:
    """Return how many placements name a cluster, and how many replicas these have."""
    placements = replicas = 0
    for dialect in DIALECTS:
        says = dialect.view().outputs
        for kind in sorted(dialect.placed):
            placements += sum(map(says.is_placed, world.outputs_of_kind(kind)))
            parts = world.outputs_of_kind(dialect.parts.get(kind, kind))
            placed = (item for part in parts for item in says.clusters_in(part.body))
            replicas += sum(count or 1 for _, count in placed)
    return placements, replicas


def _behind(world: World, edited: Round, losing: Collection[Decision]) -> Iterator[ObjectKey]:
    """Yield the edited documents that decide about some objects, sorted.

    A placement is its own; a policy counts where it claims one of them, before or now, a cluster
    where it loses one. Of other kinds, such as sets of clusters, all count.
    """
    clusters = {name for decision in losing for name in _left(decision)}
    policies = set[ObjectKey | None]()
    for decision in losing:
        dialect, present = dialect_of(decision.key.group), world.outputs.get(decision.key)
        if dialect is not None:
            bodies = (edited.written.get(decision.key), present and present.body)
            policies |= {dialect.view().outputs.policy_of(body) for body in bodies if body}
    keys = {decision.key for decision in losing}
    known = sorted(key for key in world.former if key in world.inputs)
    versions = [
        key
        for key in known
        if (key[:2] not in ROOTS or key in policies)
        and (key[:2] not in PLACED or key in keys)
        and (key[:2] not in CLUSTERS or key.name in clusters)
    ]
    yield from versions or known


def _files_of(world: World, versions: Iterable[ObjectKey]) -> tuple[HeldFile, ...]:
    """Return where the earlier versions of documents are, sorted."""
    keys: dict[tuple[str, str], list[ObjectKey]] = defaultdict(list)
    for key in versions:
        keys[world.former[key].path, world.former[key].blob].append(key)
    return tuple(HeldFile(path, blob, tuple(keys[path, blob])) for path, blob in sorted(keys))


def _fault(
    world: World,
    losing: Collection[Decision],
    versions: Sequence[ObjectKey],
    allow: str,
) -> Fault:
    """Return what is held back, by which edits it would come, and how to let it through."""
    edits = enumerated((key.plain for key in versions), NAMED)
    names = enumerated((one.subject for one in losing), NAMED)
    lost = sum(decision.lost for decision in losing)
    where = world.inputs[versions[0]].origin
    return Fault(
        path=where.path,
        line=where.line,
        column=1 if where.line else 0,
        field="",
        rule=LOSS_BRAKED,
        message=(
            f"the edit of {edits} would take {lost} replicas and place them nowhere else, "
            f"so {len(losing)} placements stay as they were before it: {names}"
        ),
        expected=(
            f"an edit that leaves them a place; or `allow: {allow}` below `spec.safety` in "
            f"{CONFIGURATION_PATH} to let exactly these go"
        ),
        allow=allow,
    )


def _joined_ledgers(
    outputs: Mapping[ObjectKey, Manifest],
    written: tuple[Mapping[ObjectKey, Body], Mapping[ObjectKey, Body]],
    gone: tuple[Container[ObjectKey], Container[ObjectKey]],
    holders: Container[ObjectKey],
) -> dict[ObjectKey, Body | None]:
    """Return the files where some decisions are taken from another pass over the same outputs.

    What the holders have reserved is as that one says; a file that is `None` goes.

    Args:
        outputs: As both passes found them.
        written: What each pass writes, the one of the holders last.
        gone: What each pass removes, likewise.
        holders: What the decisions are about.
    """

    def after(key: ObjectKey, of: int) -> ClusterLedger:
        body = written[of].get(key)
        if body is None and key in outputs and key not in gone[of]:
            body = outputs[key].body
        return ClusterLedger() if body is None else decode_ledger(body)

    joined: dict[ObjectKey, Body | None] = {}
    for key in sorted({key for one in written for key in one if key[:2] == LEDGER}):
        own, others = after(key, 1), after(key, 0)
        held = {who: one for who, one in others.held.items() if who not in holders}
        held |= {who: one for who, one in own.held.items() if who in holders}
        left = ClusterLedger(capacity=others.capacity or own.capacity, held=held)
        joined[key] = encode_ledger(key.name, left, EncodedReservations()) if held else None
    return joined
