"""FederatedResourceQuotas in a round: what is used, what a quota refuses, its status and objects.

Where quotas are enforced, the gate judges what the scheduler decided; a binding that exceeds one
keeps what it had. Upstream this is a webhook that each update of a binding has to pass, and the
usage that it adds to stands in the status of the quota. Here the usage is summed up from the
bindings at the beginning of each round, and goes on with each binding that the round decides.
Objects of a namespace depend on each other, since a quota counts all that the namespace uses.

The status file counts usage by decisions or by what clusters report. Static assignments render a
ResourceQuota for each of their clusters.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from reconciler.dialects.inventory import CopyReports, Earlier
from reconciler.dialects.karmada.api.binding import BINDING, decode_status
from reconciler.dialects.karmada.api.binding_spec import BindingSpec, decode_spec, requests_of
from reconciler.dialects.karmada.api.names import WORK_GROUP, enforces_quotas
from reconciler.dialects.karmada.api.quota import (
    QUOTA,
    ClusterQuotaStatus,
    Limits,
    Quota,
    QuotaStatus,
    decode_quota,
    encode_quota_status,
    reported_quota,
    resource_quota,
)
from reconciler.dialects.karmada.api.work import NO_MARKS
from reconciler.dialects.karmada.binding.works import (
    OPEN_ID,
    at_cluster,
    marked,
    marked_at,
    name_of,
    with_managed_lists,
    work_of,
)
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.scheduler.plugins import refused_before
from reconciler.dialects.reads import Followed, Question, Reads
from reconciler.dialects.renderer import ClusterWork, fill_work
from reconciler.errors import UserError
from reconciler.model.body import Body, keep_present
from reconciler.model.fields import text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.quantity import (
    Quantity,
    Resources,
    canonical_like,
    decode_resources,
    parse_quantity,
)
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import AnswerCache
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World
from reconciler.schedule.pods import canonical_amount


def is_counted(world: World, namespace: str) -> bool:
    """Return whether quotas of a namespace refuse what exceeds them."""
    limited = any(one.key.namespace == namespace for one in world.of_kind(*QUOTA))
    return limited and enforces_quotas(settings_in(world))


DENIED = 'admission webhook "resourcebinding.karmada.io" denied the request: {}'
"""Source: karmada@f8fdd02 artifacts/deploy/webhook-configuration.yaml, in the words that client-go
has for a webhook that refuses.
"""

Refusal = Callable[[str, BindingSpec, BindingSpec], str]
"""Returns why quotas of a namespace refuse that a binding becomes another, `""` if none does."""
QuotasOf = Mapping[str, Sequence[Quota]]
"""Namespace to its quotas, sorted by name."""


def nothing_refused(_namespace: str, _had: BindingSpec, _wants: BindingSpec) -> str:
    """Refuse nothing, as without the gate FederatedQuotaEnforcement."""
    return ""


def by_namespace(quotas: Iterable[Quota]) -> QuotasOf:
    """Return quotas, sorted, by namespace."""
    in_namespace: dict[str, list[Quota]] = {}
    for quota in quotas:
        in_namespace.setdefault(quota.key.namespace, []).append(quota)
    return in_namespace


def quota_question(namespace: str) -> Question:
    """Return what a binding asks that is refused: what there is, and what is used of it."""
    return "quota", namespace


def refusing_always(message: str) -> Refusal:
    """Return what refuses whatever changes what is used, with the same words."""

    def refuse(_namespace: str, had: BindingSpec, wants: BindingSpec) -> str:
        return message if usage_of(had) != usage_of(wants) else ""

    return refuse


@dataclass(slots=True, eq=False)
class QuotaGate:
    """The quotas that are enforced in one round; what is used goes on in place.

    Attributes:
        quotas: By namespace.
        used: Namespace to what its bindings use.
    """

    quotas: QuotasOf
    used: dict[str, Resources] = field(default_factory=dict)

    def refusal(self, namespace: str, had: BindingSpec, wants: BindingSpec) -> str:
        """Return why a change of a binding is refused, `""` if it is taken.

        A change is refused where it moves any resource that a quota tracks, and the sum of any
        resource then stands above its limit: also one that the change lowers, or leaves alone.
        Quotas and resources are asked by name; upstream they come in the order of Go's maps.

        Raises:
            UserError: A request is no quantity.

        Source: karmada@f8fdd02 pkg/webhook/resourcebinding/validating.go
        `validateFederatedResourceQuota`, `processSingleFRQ`, `isAllowed`.
        """
        quotas = self.quotas.get(namespace, ())
        if not quotas:
            return ""
        before, now = usage_of(had), usage_of(wants)
        if before == now:
            return ""
        delta = moved(now, before, {})
        used = moved(self.used.get(namespace, {}), before, now)
        refusals = (
            _exceeded(one, used) for one in quotas if not delta.keys().isdisjoint(one.overall)
        )
        return next(filter(None, refusals), "")

    def take(self, namespace: str, had: BindingSpec, has: BindingSpec) -> None:
        """Go on with a binding as it was decided."""
        before, now = usage_of(had), usage_of(has)
        if before != now:
            self.used[namespace] = moved(self.used.get(namespace, {}), before, now)


def _exceeded(quota: Quota, used: Resources) -> str:
    """Return which limit of a quota a sum exceeds, `""` if none."""
    for name in sorted(quota.overall):
        total = Quantity(used.get(name, 0))
        if total > quota.overall[name]:
            excess = (
                f"FederatedResourceQuota({quota.key.namespace}/{quota.key.name}) exceeded for "
                f"resource {name}: requested sum {canonical_amount(name, total)}, "
                f"limit {quota.limits[name]}."
            )
            return DENIED.format(excess)
    return ""


def quota_files(
    world: World,
    quotas: tuple[Quota, ...],
    used: Mapping[str, Resources] | None,
    copies: CopyReports,
    clusters: tuple[str, ...],
) -> Mapping[ObjectKey, Body]:
    """Return the status file of each quota.

    Args:
        world: That has them.
        quotas: All, sorted.
        used: Namespace to what its bindings use, `None` where quotas are not enforced.
        copies: What clusters report.
        clusters: All there are.
    """
    files: dict[ObjectKey, Body] = {}
    for quota in quotas:
        reported = tuple(_reported(quota, copies, clusters))
        status = QuotaStatus(
            overall=quota.limits,
            used=_sum_of(reported) if used is None else _used_of(quota, used),
            clusters=reported,
        )
        key, present = quota.key, world.outputs.get(quota.key)
        body = encode_quota_status(key, text(world.inputs[key].body, "apiVersion"), status)
        files[key] = keep_present(body, None if present is None else present.body)
    return files


def _reported(
    quota: Quota, copies: CopyReports, clusters: tuple[str, ...]
) -> Iterator[ClusterQuotaStatus]:
    """Yield what the clusters report that have a ResourceQuota of it, by name.

    Source: karmada@f8fdd02 pkg/controllers/federatedresourcequota
    federated_resource_quota_status_controller.go `aggregatedStatusFormWorks`.
    """
    there = set(clusters)
    for cluster in sorted(quota.assignments):
        report = copies.of(quota.copy, cluster) if cluster in there else None
        statuses = (
            None if report is None or not report.applied else reported_quota(cluster, report.body)
        )
        if statuses is not None:
            yield statuses


def _sum_of(reported: tuple[ClusterQuotaStatus, ...]) -> Limits:
    """Return what clusters use together, each sum in the format of the first cluster's amount.

    Source: karmada@f8fdd02 pkg/controllers/federatedresourcequota
    federated_resource_quota_status_controller.go `calculateUsed`.
    """
    sums: dict[str, tuple[Quantity, str]] = {}
    for amounts in reported:
        for name, amount in amounts.used.items():
            so_far, like = sums.get(name, (Quantity(0), amount))
            sums[name] = Quantity(so_far + parse_quantity(amount)), like
    return {name: canonical_like(*sums[name]) for name in sorted(sums)}


def _used_of(quota: Quota, used: Mapping[str, Resources]) -> Limits:
    """Return what bindings use of what a quota limits.

    Source: karmada@f8fdd02 pkg/controllers/federatedresourcequota
    federated_resource_quota_enforcement_controller.go `calculateUsedWithResourceBinding`,
    `filterResourceListByOverall`.
    """
    used_here = used.get(quota.key.namespace, {})
    return {
        name: canonical_amount(name, used_here[name])
        for name in sorted(quota.overall)
        if name in used_here
    }


NAMESPACE, NAME = (f"federatedresourcequota.karmada.io/{part}" for part in ("namespace", "name"))
"""Source: karmada@f8fdd02 pkg/util/constants.go `FederatedResourceQuotaNamespaceLabel`,
`FederatedResourceQuotaNameLabel`.
"""


def assigned(quota: Quota, fleet: Iterable[ClusterName]) -> list[ClusterName]:
    """Return the clusters that get a ResourceQuota of a quota, by name: those that there are.

    Source: karmada@f8fdd02 `FederatedResourceQuotaSpec.staticAssignments`: clusters that are not
    listed have none.
    """
    return sorted(quota.assignments.keys() & set(fleet))


def render_quota(quota: Quota, fleet: Iterable[ClusterName]) -> Iterator[ClusterWork]:
    """Yield what each cluster gets of a quota; overrides do not change it.

    Source: karmada@f8fdd02 pkg/controllers/federatedresourcequota
    federated_resource_quota_sync_controller.go `buildWorks`.
    """
    labels = {**OPEN_ID, NAMESPACE: quota.key.namespace, NAME: quota.key.name}
    for cluster in assigned(quota, fleet):
        body = resource_quota(quota, cluster)
        name = name_of(body)
        work_id = NO_MARKS.work_id(cluster, name)
        manifest = with_managed_lists(marked(body, OPEN_ID, {}))
        yield ClusterWork(
            cluster=cluster,
            carrier=at_cluster(work_of(body, labels, None), cluster, work_id),
            fill=fill_work,
            manifests={quota.copy: marked_at(manifest, cluster, work_id)},
        )


KIND = (WORK_GROUP, BINDING)
"""Bindings without a namespace are in no quota."""


def usage_of(spec: BindingSpec) -> Resources:
    """Return what a binding uses: what one replica asks for, times its replicas on all clusters.

    Components are not counted, as without the gate MultiplePodTemplatesScheduling.

    Raises:
        UserError: A request is no quantity.

    Source: karmada@f8fdd02 pkg/webhook/resourcebinding/validating.go `calculateResourceUsage`.
    """
    replicas = sum(count for _, count in spec.copies)
    if not replicas:
        return {}
    requests = decode_resources(requests_of(spec)).items()
    return {name: Quantity(amount * replicas) for name, amount in requests if amount}


def usage_in(binding: Body) -> Resources:
    """Return what the binding of a file uses, nothing where a person made it unreadable."""
    try:
        return usage_of(decode_spec(binding))
    except UserError:
        return {}


def moved(total: Resources, before: Resources, now: Resources) -> Resources:
    """Return a sum in which one part is another now; what comes to nothing is left out."""
    resources = dict(total)
    for name in {*before, *now}:
        resources[name] = Quantity(resources.get(name, 0) + now.get(name, 0) - before.get(name, 0))
    return {name: amount for name, amount in resources.items() if amount}


@dataclass(slots=True, eq=False)
class UsageTable:
    """What the bindings of some namespaces use; it is changed in place, and costs what differs."""

    _outputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _parts: dict[str, dict[ObjectKey, Resources]] = field(default_factory=dict)
    _totals: dict[str, Resources] = field(default_factory=dict)

    def follow(self, world: World, namespaces: Collection[str]) -> Mapping[str, Resources]:
        """Go on to another world, and return what each of some namespaces uses.

        The sum of a namespace is the very same while none of its bindings uses anything else.
        """
        differing = self._outputs.follow(world.outputs)
        for namespace in self._parts.keys() - namespaces:
            del self._parts[namespace], self._totals[namespace]
        new = {one for one in namespaces if one not in self._parts}
        for entry in differing:
            if entry.key[:2] == KIND and entry.key.namespace in self._parts:
                self._put(entry.key, entry.now)
        if new:
            self._add(new, world.outputs_of_kind(KIND))
        return dict(self._totals)

    def _add(self, namespaces: Collection[str], bindings: Iterable[Manifest]) -> None:
        for namespace in namespaces:
            self._parts[namespace], self._totals[namespace] = {}, {}
        for binding in bindings:
            if binding.key.namespace in namespaces:
                self._put(binding.key, binding)

    def _put(self, key: ObjectKey, binding: Manifest | None) -> None:
        parts = self._parts[key.namespace]
        before = parts.pop(key, {})
        now = {} if binding is None else usage_in(binding.body)
        if now:
            parts[key] = now
        if now != before:
            self._totals[key.namespace] = moved(self._totals[key.namespace], before, now)


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
    written = world.of_kind(*QUOTA)
    quotas = memory.decoded.recall(None, (written,), partial(_decoded, written))
    gate = _gate(world, by_namespace(quotas), memory) if enforced else None
    return QuotaRound(world=world, quotas=quotas, gate=gate, memory=memory)


def _gate(world: World, quotas: QuotasOf, memory: QuotaMemory) -> QuotaGate:
    return QuotaGate(quotas, dict(memory.usage.follow(world, quotas.keys())))


def _decoded(written: tuple[Manifest, ...]) -> tuple[Quota, ...]:
    return tuple(map(decode_quota, written))
