"""The quotas of one round: which ones there are, what is used of them, and what is new of that."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from reconciler.dialects.cluster_inventory import Earlier
from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.karmada.api.quota.quota import QUOTA, Quota, decode_quota
from reconciler.dialects.karmada.api.work.binding_spec import decode_spec
from reconciler.dialects.karmada.api.work.binding_status import decode_status
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.federatedresourcequota.enforcement import (
    QuotaGate,
    QuotasOf,
    Refusal,
    by_namespace,
    nothing_refused,
    quota_question,
)
from reconciler.dialects.karmada.federatedresourcequota.quota_files import quota_files
from reconciler.dialects.karmada.federatedresourcequota.usage import UsageTable
from reconciler.dialects.karmada.scheduler.failure import refused_before
from reconciler.dialects.read_index import Question, Reads
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache
from reconciler.model.resources import Resources
from reconciler.model.world import WRITES_ASSUMED, Manifest, World

Room = tuple[tuple[Quota, ...], Resources]
"""The quotas of a namespace, and what its bindings use."""


@dataclass(slots=True, eq=False)
class QuotaMemory:
    """What is remembered of quotas between rounds; it is changed in place.

    Attributes:
        decoded: The quotas, under one name.
        usage: What bindings use.
        rooms: By namespace what the last round began with.
        files: The status files, under one name.
    """

    decoded: AnswerCache[None, tuple[Quota, ...]] = field(default_factory=AnswerCache)
    usage: UsageTable = field(default_factory=UsageTable)
    rooms: Mapping[str, Room] = field(default_factory=dict)
    files: AnswerCache[None, Mapping[ObjectKey, Body]] = field(default_factory=AnswerCache)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        self.decoded.forget()
        self.files.forget()


@dataclass(slots=True, kw_only=True, eq=False)
class QuotaRound:
    """The quotas of one round.

    Attributes:
        world: That has them.
        quotas: All, sorted.
        gate: What refuses, `None` where nothing is enforced.
        memory: Of earlier rounds.
    """

    world: World
    quotas: tuple[Quota, ...]
    gate: QuotaGate | None
    memory: QuotaMemory

    @property
    def refusal(self) -> Refusal:
        """What says whether a binding is refused."""
        return nothing_refused if self.gate is None else self.gate.refusal

    def changed(self) -> list[Question]:
        """Return what those who are refused may get another answer to; asked once a round."""
        gate = self.gate
        rooms: dict[str, Room] = {}
        if gate is not None:
            rooms = {name: (tuple(gate.quotas[name]), gate.used[name]) for name in gate.quotas}
        before, self.memory.rooms = self.memory.rooms, rooms
        names = before.keys() | rooms.keys()
        return [quota_question(name) for name in names if before.get(name) != rooms.get(name)]

    def contended(self, keys: Iterable[ObjectKey]) -> frozenset[Question]:
        """Return what those ask who are refused beside some bindings that are looked at."""
        if self.gate is None:
            return frozenset()
        names = {key.namespace for key in keys}
        return frozenset(map(quota_question, names & self.gate.quotas.keys()))

    def refusal_before(self) -> Earlier[Refusal] | None:
        """Return the quotas of the last pass, `None` where they are the same or nothing refuses."""
        gate, edited = self.gate, self.world.earlier_of([QUOTA])
        if gate is None or not edited:
            return None

        def draw() -> Refusal:
            there = {one.key: one for one in self.quotas if one.key not in edited}
            there |= {key: decode_quota(one) for key, one in edited.items() if one is not None}
            then = by_namespace(there[key] for key in sorted(there))
            return QuotaGate(then, gate.used).refusal

        return Earlier(tuple(edited), draw)

    def take(self, draft: Draft, outputs: Mapping[ObjectKey, Body]) -> None:
        """Go on with a binding as it was decided."""
        gate = self.gate
        if gate is not None and draft.key.namespace in gate.quotas and draft.key in outputs:
            gate.take(draft.key.namespace, draft.stood, decode_spec(outputs[draft.key]))

    def reads(self, draft: Draft, outputs: Mapping[ObjectKey, Body]) -> Reads:
        """Return what a binding asks of quotas that stays as it is: something if it is refused."""
        gate = self.gate
        if gate is None or draft.key.namespace not in gate.quotas or draft.key not in outputs:
            return frozenset()
        if not refused_before(decode_status(outputs[draft.key])):
            return frozenset()
        return frozenset((quota_question(draft.key.namespace),))

    def files(
        self, copies: CopyReports, clusters: tuple[str, ...]
    ) -> tuple[Mapping[ObjectKey, Body], Iterator[ObjectKey]]:
        """Return the status files of all quotas as the round leaves them, and those that go."""
        world, gate = self.world, self.gate
        sums = {} if gate is None else gate.used
        present = world.outputs_of_kind(QUOTA)
        drawn_from = (self.quotas, gate is None, present, copies.plain, clusters, *sums.values())
        used = None if gate is None else sums
        draw = partial(quota_files, world, self.quotas, used, copies, clusters)
        there = {one.key for one in self.quotas}
        gone = (one.key for one in present if one.key not in there)
        return self.memory.files.recall(None, drawn_from, draw), gone


def open_quotas(world: World, memory: QuotaMemory, *, enforced: bool) -> QuotaRound:
    """Begin a round.

    Args:
        world: As it is by now.
        memory: Of earlier rounds.
        enforced: Whether a quota refuses what exceeds it.
    """
    written = () if world.rules == WRITES_ASSUMED else world.of_kind(*QUOTA)
    quotas = memory.decoded.recall(None, (written,), partial(_decoded, written))
    gate = _gate(world, by_namespace(quotas), memory) if enforced else None
    return QuotaRound(world=world, quotas=quotas, gate=gate, memory=memory)


def _gate(world: World, quotas: QuotasOf, memory: QuotaMemory) -> QuotaGate:
    return QuotaGate(quotas, dict(memory.usage.follow(world, quotas.keys())))


def _decoded(written: tuple[Manifest, ...]) -> tuple[Quota, ...]:
    return tuple(map(decode_quota, written))
