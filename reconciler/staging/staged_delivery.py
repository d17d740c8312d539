"""Staged deliveries as manifests and status files: what people ask for, and which cluster has what.

A staged delivery holds the content of objects, never their placement. Of each object that it
selects it records the version that clusters have: the git blob of a file, and a digest of what
counts as content, so that replicas never do. A change of content begins a run. From then on the
record has the version that each cluster had before, until the run is over, so that every reader
finds out what a cluster is to have, a rollback included: the version before where its stage has not
come, the version of now elsewhere.

Each copy of such an object bears the digest of its version, and reports bear it back. A generation
would not do: it does not say of which content.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.errors import UserError
from reconciler.manifests.admission import digest
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import (
    bodies,
    bodies_or_none,
    mapping,
    mapping_or_none,
    number,
    strings,
    text,
)
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.kinds import ApiKind, Kind, Writer
from reconciler.model.labels import (
    LabelSelector,
    decode_label_selector,
    labels_of,
    matches,
    refusal_of,
)
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.records import dataclass, field, replace
from reconciler.model.text import enumerated
from reconciler.model.world import Manifest, World

STAGED_DELIVERY: Kind = ("reconciler.dev", "StagedDelivery")
STAGED_DELIVERY_KIND = ApiKind(
    group=STAGED_DELIVERY[0],
    kind=STAGED_DELIVERY[1],
    writer=Writer.BOTH,
    short=("sd",),
    located=True,
)
API_VERSION = "reconciler.dev/v1alpha1"
NAMED = 3  # objects that are named in a fault
CONTENT = "reconciler.dev/content"
"""Annotation of a delivered copy, and of what a cluster reports of it: the version that it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentSelector:
    """Which objects are staged; what is empty or `None` selects any."""

    group: str | None = None
    kind: str = ""
    namespace: str = ""
    name: str = ""
    labels: LabelSelector | None = None

    def may_select(self, kind: Kind, apis: Container[str], staged: Container[Kind]) -> bool:
        """Return whether objects of a kind may be selected; one of an API only if it is named.

        Args:
            kind: Of the objects.
            apis: The groups of the APIs.
            staged: Their kinds that have content.
        """
        return kind[0] not in apis or (kind in staged and self.kind == kind[1])

    def selects(self, manifest: Manifest) -> bool:
        """Return whether an object is selected."""
        key = manifest.key
        wanted = ((self.kind, key.kind), (self.namespace, key.namespace), (self.name, key.name))
        if any(asked not in ("", found) for asked, found in wanted):
            return False
        if self.group is not None and self.group != key.group:
            return False
        return self.labels is None or matches(self.labels, labels_of(manifest.body))


class StagedChange(StrEnum):
    """Which changes are staged: those of the objects, or of the overrides that mean them, too."""

    TEMPLATE = "template"
    OVERRIDES = "overrides"


class OrderedAction(StrEnum):
    """What a person orders of a run."""

    APPROVE = "Approve"
    STOP = "Stop"
    RESUME = "Resume"
    ROLLBACK = "Rollback"


class RunOrder(NamedTuple):
    """What a person orders of one run.

    Attributes:
        run: The id of the run.
        generation: Of the staged delivery that the person saw.
        action: What is to be done.
        stage: The stage whose task is approved, `""` for another action.
        task: `BeforeStage` or `AfterStage`, likewise.
    """

    run: str
    generation: int
    action: OrderedAction
    stage: str = ""
    task: str = ""

    @property
    def text(self) -> str:
        """The order as the record of a run has it."""
        return " ".join(filter(None, (str(self.generation), self.action, self.stage, self.task)))


BEFORE, AFTER = "BeforeStage", "AfterStage"
"""The tasks of a stage as orders name them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedDelivery:
    """What a person asks for.

    Attributes:
        selector: Which objects are staged.
        strategy: Name of the strategy that has the stages.
        failure_threshold: How many clusters of a stage may fail, less one, before the run stops.
        deadline_seconds: How long a cluster may take to report what it was given.
        on_change: What of it is staged.
        orders: What is ordered of runs, in order.
    """

    selector: ContentSelector
    strategy: str
    failure_threshold: int = 1
    deadline_seconds: int = 600
    on_change: StagedChange = StagedChange.TEMPLATE
    orders: tuple[RunOrder, ...] = ()


def decode_staged_delivery(body: Body) -> StagedDelivery:
    """Return what a manifest asks for, its defaults applied.

    Raises:
        UserError: A field has the wrong type.
    """
    spec = mapping(body, "spec")
    selector = mapping(spec, "selector")
    labels, version = mapping_or_none(selector, "labelSelector"), text(selector, "apiVersion")
    return StagedDelivery(
        selector=ContentSelector(
            group=group_of(version) if version else None,
            kind=text(selector, "kind"),
            namespace=text(selector, "namespace"),
            name=text(selector, "name"),
            labels=None if labels is None else decode_label_selector(labels),
        ),
        strategy=text(spec, "strategy"),
        failure_threshold=number(spec, "failureThreshold") or 1,
        deadline_seconds=number(spec, "stageDeadlineSeconds") or 600,
        on_change=StagedChange(text(spec, "onChange") or StagedChange.TEMPLATE),
        orders=tuple(map(_order, bodies(spec, "orders"))),
    )


def _order(body: Body) -> RunOrder:
    return RunOrder(
        run=text(body, "run"),
        generation=number(body, "generation"),
        action=OrderedAction(text(body, "action")),
        stage=text(body, "stage"),
        task=text(body, "task"),
    )


def refuse_staged_delivery(
    apis: Container[str], staged: Container[Kind], body: Body
) -> tuple[Violation, ...]:
    """Return what is wrong with a StagedDelivery that its schema accepts.

    Args:
        apis: The groups of the APIs, whose kinds have no content.
        staged: Those that have.
        body: The manifest, its defaults applied.
    """
    try:
        asked = decode_staged_delivery(body)
    except UserError as error:
        return (Violation("/spec/selector", "staged-selector", error.message),)
    selector, group = asked.selector, asked.selector.group
    of_apis: tuple[Violation, ...] = ()
    if group is not None and not selector.may_select((group, selector.kind), apis, staged):
        message = f"objects of the group {group} are not delivered, so that nothing can be staged"
        expected = "the apiVersion of workloads, such as apps/v1"
        of_apis = (Violation("/spec/selector/apiVersion", "staged-selector", message, expected),)
    labels = _refused_labels(asked.selector.labels)
    return (*of_apis, *labels, *_refused_orders(asked.orders))


def _refused_labels(labels: LabelSelector | None) -> Iterator[Violation]:
    refusal = "" if labels is None else refusal_of(labels)
    if refusal:
        pointer = "/spec/selector/labelSelector"
        yield Violation(pointer, "staged-selector", refusal, "a selector that Kubernetes takes")


def _refused_orders(orders: Iterable[RunOrder]) -> Iterator[Violation]:
    """Yield the orders that do not say what they approve, or say it and approve nothing."""
    for position, order in enumerate(orders):
        approves = order.action is OrderedAction.APPROVE
        if (approves and not (order.stage and order.task)) or (
            not approves and (order.stage or order.task)
        ):
            message = f"`stage` and `task` must {'' if approves else 'not '}be given for "
            expected = "stage: prod and task: BeforeStage" if approves else "neither of them"
            pointer = f"/spec/orders/{position}"
            yield Violation(pointer, "staged-order", f"{message}{order.action}", expected)


class OverrideVersion(NamedTuple):
    """A version of an override policy: its file at `path` with a git blob, and its digest."""

    key: ObjectKey
    path: str
    blob: str
    digest: str


class ContentVersion(NamedTuple):
    """A version of an object.

    Attributes:
        path: Of its file.
        blob: Full hex id of the git blob of that file.
        digest: Of what counts as its content.
        revision: Full hex id of the input commit in which a pass first saw it.
        overrides: The override policies that mean it, sorted, `None` where these are not staged:
            those of now count.
    """

    path: str
    blob: str
    digest: str
    revision: str
    overrides: tuple[OverrideVersion, ...] | None = None

    @property
    def mark(self) -> str:
        """What its copies bear, and no other version's."""
        if not self.overrides:
            return self.digest
        return content_digest([self.digest, *(one.digest for one in self.overrides)])

    @property
    def order(self) -> tuple[str, ...]:
        """By which versions are sorted."""
        return self.path, self.blob, self.mark

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """All that it is read from, paths and blobs."""
        overrides = ((one.path, one.blob) for one in self.overrides or ())
        return (self.path, self.blob), *overrides

    def is_like(self, other: "ContentVersion") -> bool:
        """Return whether clusters would get the same of two versions.

        Overrides that are staged in one of them only say nothing: somebody began or ceased to.
        """
        if self.overrides is None or other.overrides is None:
            return self.digest == other.digest
        return self.mark == other.mark


def content_digest(content: object) -> str:
    """Return the digest of what counts as the content of an object, short enough to be read."""
    return digest(content).removeprefix("sha256:")[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedObject:
    """Which version of an object is where.

    Attributes:
        version: The one that its file has.
        before: Of the clusters that had another one when the run began, which one. Empty where all
            have the same.
        others: Its other clusters, as far as any is in `before`.
        left: Whether nobody stages it any more: its clusters keep what they have.
    """

    version: ContentVersion
    before: Mapping[ClusterName, ContentVersion] = field(default_factory=dict)
    others: frozenset[ClusterName] = frozenset()
    left: bool = False


class ClusterProgress(NamedTuple):
    """How far a cluster of a stage is.

    Attributes:
        name: Its name.
        started_at: When it was given the new version.
        ended_at: When that was known to run there, or to fail, `None` if neither is.
        failure: Why it counts as failed, `""` if it does not.
        was_unhealthy: Whether it reported so before; then it cannot become worse.
    """

    name: ClusterName
    started_at: datetime
    ended_at: datetime | None = None
    failure: str = ""
    was_unhealthy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StageProgress:
    """How far a stage of a run is; a moment is `None` where it has not come.

    Attributes:
        name: Its name.
        started_at: When its first cluster might be updated.
        updated_at: When its last cluster was.
        ended_at: When everything was over that comes after it.
        approved: Which of its tasks are approved.
        pardoned: How many failures a person went on in spite of.
        clusters: Those that were given the new version, in this order.
        waiting: Those that are to be given it, by name.
    """

    name: str
    started_at: datetime | None = None
    updated_at: datetime | None = None
    ended_at: datetime | None = None
    approved: frozenset[str] = frozenset()
    pardoned: int = 0
    clusters: tuple[ClusterProgress, ...] = ()
    waiting: tuple[ClusterName, ...] = ()


class RunState(StrEnum):
    """What a run does."""

    UPDATING = "Updating"
    STOPPED = "Stopped"
    ROLLED_BACK = "RolledBack"
    FINISHED = "Finished"
    LEFT = "Left"
    """Over, since nobody stages any more what it changes; clusters keep what they have."""


APPROVAL = "waits for approval "
"""How the reason begins of a run that waits for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentRun:
    """One change of content on its way.

    Attributes:
        number: Counts the runs of a staged delivery, from 1.
        id: By which orders name it: the number, and what no other run of that number has.
        state: What it does.
        started_at: When it began.
        ended_at: When it ended, `None` if it has not.
        reason: Why it does not go on, or what it waits for; `""` once it is finished.
        heeded: The orders that were carried out, as texts.
        vain: Those that had no effect when they came, and are to have none later.
        stages: How far its stages are, in order; those without clusters are left out.
        outside: The clusters that are in no stage and keep what they have, by name.
    """

    number: int
    id: str
    state: RunState
    started_at: datetime
    ended_at: datetime | None = None
    reason: str = ""
    heeded: tuple[str, ...] = ()
    vain: tuple[str, ...] = ()
    stages: tuple[StageProgress, ...] = ()
    outside: tuple[ClusterName, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state in (RunState.FINISHED, RunState.ROLLED_BACK, RunState.LEFT)

    @property
    def waits_outside(self) -> bool:
        """Whether only clusters in no stage are left, for which it waits until a person acts."""
        ended = all(one.ended_at is not None for one in self.stages)
        return self.state is RunState.UPDATING and bool(self.outside) and ended

    @property
    def awaited_approval(self) -> tuple[str, str] | None:
        """The stage that waits for approval, and which task of it does, `None` if none does."""
        if self.state is not RunState.UPDATING or not self.reason.startswith(APPROVAL):
            return None
        when, _, stage = self.reason.removeprefix(APPROVAL).partition(" stage ")
        return stage, BEFORE if when == "before" else AFTER

    @property
    def given(self) -> frozenset[ClusterName]:
        """The clusters that were given the new version, and still have it."""
        if self.state is RunState.ROLLED_BACK:
            return frozenset()
        return frozenset(one.name for stage in self.stages for one in stage.clusters)

    def abandoned(self, why: str) -> "ContentRun":
        """Return it once nobody asks for it any more: it updates no further cluster."""
        if self.state is not RunState.UPDATING:
            return self
        return replace(self, state=RunState.STOPPED, reason=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRecord:
    """What the status file of a staged delivery says; `run` is `None` before the first one."""

    run: ContentRun | None = None
    objects: Mapping[ObjectKey, StagedObject] = field(default_factory=dict)

    def version_on(self, key: ObjectKey, cluster: ClusterName) -> ContentVersion:
        """Return which version of a recorded object a cluster is to have."""
        found = self.objects[key]
        given = frozenset() if found.left or self.run is None else self.run.given
        if cluster in given:
            return found.version
        return found.before.get(cluster, found.version)


def decode_staged_record(body: Body) -> StagedRecord:
    """Return what a status file says.

    Raises:
        UserError: A field has the wrong type.
        ValueError: An object or a moment is none.
    """
    status = mapping(body, "status")
    run = mapping_or_none(status, "run")
    return StagedRecord(
        run=None if run is None else _decode_run(run),
        objects={
            ObjectKey.read(text(one, "object")): _decode_object(one)
            for one in bodies(status, "objects")
        },
    )


def readable_staged_record(body: Body) -> StagedRecord:
    """Return what a status file says, nothing where a person made it unreadable."""
    try:
        return decode_staged_record(body)
    except (UserError, ValueError):
        return StagedRecord()


def encode_staged_record(record: StagedRecord) -> Body:
    """Return the status of a staged delivery as it is written."""
    run = {} if record.run is None else {"run": _encode_run(record.run)}
    objects = [_encode_object(key, record.objects[key]) for key in sorted(record.objects)]
    return {**run, "objects": objects}


def _decode_version(body: Body) -> ContentVersion:
    path, blob, digest, revision = (text(body, name) for name in ContentVersion._fields[:4])
    overrides = bodies_or_none(body, "overrides")
    staged = None if overrides is None else tuple(map(_decode_override, overrides))
    return ContentVersion(path, blob, digest, revision, staged)


def _decode_override(body: Body) -> OverrideVersion:
    path, blob, digest = (text(body, name) for name in OverrideVersion._fields[1:])
    return OverrideVersion(ObjectKey.read(text(body, "object")), path, blob, digest)


def _encode_version(version: ContentVersion) -> dict[str, object]:
    found = version._asdict()
    del found["overrides"]
    if version.overrides is None:
        return found
    overrides = [
        {"object": str(one.key), "path": one.path, "blob": one.blob, "digest": one.digest}
        for one in version.overrides
    ]
    return {**found, "overrides": overrides}


def _decode_object(body: Body) -> StagedObject:
    return StagedObject(
        version=_decode_version(body),
        before={
            ClusterName(name): _decode_version(one)
            for one in bodies(body, "before")
            for name in strings(one, "clusters")
        },
        others=frozenset(map(ClusterName, strings(body, "clusters"))),
        left=body.get("left") is True,
    )


def _encode_object(key: ObjectKey, found: StagedObject) -> Body:
    versions = sorted(set(found.before.values()), key=lambda one: one.order)
    before = [
        {
            **_encode_version(one),
            "clusters": sorted(name for name, had in found.before.items() if had == one),
        }
        for one in versions
    ]
    return {
        "object": str(key),
        **_encode_version(found.version),
        **({"before": before, "clusters": sorted(found.others)} if before else {}),
        **({"left": True} if found.left else {}),
    }


def _moment(body: Body, name: str) -> datetime | None:
    written = text(body, name)
    return parse_moment(written) if written else None


def _moments(**moments: datetime | None) -> dict[str, object]:
    return {name: format_moment(one) for name, one in moments.items() if one is not None}


def _decode_run(body: Body) -> ContentRun:
    return ContentRun(
        number=number(body, "number"),
        id=text(body, "id"),
        state=RunState(text(body, "state")),
        started_at=parse_moment(text(body, "startedAt")),
        ended_at=_moment(body, "endedAt"),
        reason=text(body, "reason"),
        heeded=strings(body, "heeded"),
        vain=strings(body, "vain"),
        stages=tuple(map(_decode_stage, bodies(body, "stages"))),
        outside=tuple(map(ClusterName, strings(body, "outside"))),
    )


def _encode_run(run: ContentRun) -> Body:
    return {
        "number": run.number,
        "id": run.id,
        "state": str(run.state),
        **_moments(startedAt=run.started_at, endedAt=run.ended_at),
        **({"reason": run.reason} if run.reason else {}),
        **({"heeded": list(run.heeded)} if run.heeded else {}),
        **({"vain": list(run.vain)} if run.vain else {}),
        "stages": list(map(_encode_stage, run.stages)),
        **({"outside": list(run.outside)} if run.outside else {}),
    }


def _decode_stage(body: Body) -> StageProgress:
    return StageProgress(
        name=text(body, "name"),
        started_at=_moment(body, "startedAt"),
        updated_at=_moment(body, "updatedAt"),
        ended_at=_moment(body, "endedAt"),
        approved=frozenset(strings(body, "approved")),
        pardoned=number(body, "pardoned"),
        clusters=tuple(map(_decode_cluster, bodies(body, "clusters"))),
        waiting=tuple(map(ClusterName, strings(body, "waiting"))),
    )


def _encode_stage(stage: StageProgress) -> Body:
    moments = _moments(
        startedAt=stage.started_at, updatedAt=stage.updated_at, endedAt=stage.ended_at
    )
    told = {
        **({"approved": sorted(stage.approved)} if stage.approved else {}),
        **({"pardoned": stage.pardoned} if stage.pardoned else {}),
    }
    return {
        "name": stage.name,
        **moments,
        **told,
        "clusters": list(map(_encode_cluster, stage.clusters)),
        **({"waiting": list(stage.waiting)} if stage.waiting else {}),
    }


def _decode_cluster(body: Body) -> ClusterProgress:
    return ClusterProgress(
        name=ClusterName(text(body, "name")),
        started_at=parse_moment(text(body, "startedAt")),
        ended_at=_moment(body, "endedAt"),
        failure=text(body, "failure"),
        was_unhealthy=body.get("wasUnhealthy") is True,
    )


def _encode_cluster(one: ClusterProgress) -> Body:
    return {
        "name": one.name,
        **_moments(startedAt=one.started_at, endedAt=one.ended_at),
        **({"failure": one.failure} if one.failure else {}),
        **({"wasUnhealthy": True} if one.was_unhealthy else {}),
    }


def staging_owners(
    selected: Mapping[ObjectKey, Iterable[ObjectKey]], records: Mapping[ObjectKey, StagedRecord]
) -> dict[ObjectKey, ObjectKey]:
    """Return who stages each object that is selected, sorted: who has it, or the first by name.

    Args:
        selected: What each staged delivery selects.
        records: What each of them has staged so far; one that is missing has nothing.
    """
    selecting: dict[ObjectKey, list[ObjectKey]] = {}
    for who in sorted(selected):
        for key in selected[who]:
            selecting.setdefault(key, []).append(who)
    owners: dict[ObjectKey, ObjectKey] = {}
    for key in sorted(selecting):
        known = ((who, records.get(who, StagedRecord()).objects.get(key)) for who in selecting[key])
        having = (who for who, one in known if one is not None and not one.left)
        owners[key] = next(having, selecting[key][0])
    return owners


def left_to_others(
    who: ObjectKey,
    selected: Iterable[ObjectKey],
    owners: Mapping[ObjectKey, ObjectKey],
    rolled_out: Callable[[ObjectKey], ObjectKey | None],
) -> tuple[frozenset[ObjectKey], tuple[Violation, ...]]:
    """Return what a staged delivery selects and must not stage, and what is wrong with that.

    Args:
        who: The staged delivery.
        selected: What it selects.
        owners: Who stages each of these objects.
        rolled_out: Returns the decision that rolls an object out by itself, `None` if none does.
    """
    taken: dict[tuple[str, str], list[ObjectKey]] = {}
    for key in sorted(selected):
        by_itself = rolled_out(key)
        if by_itself is not None:
            refusal = "staged-by-itself", f"the {by_itself.plain} rolls it out by itself"
        elif owners[key] != who:
            refusal = "staged-twice", f"the {owners[key].plain} stages it already"
        else:
            continue
        taken.setdefault(refusal, []).append(key)
    violations = []
    for (rule, why), keys in sorted(taken.items()):
        message = f"{enumerated((one.plain for one in keys), NAMED)}: {why}"
        expected = "a selector that leaves it out"
        violations.append(Violation("/spec/selector", rule, message, expected))
    return frozenset(key for keys in taken.values() for key in keys), tuple(violations)


StagedVersions = Mapping[ObjectKey, StagedRecord]
"""Every object of which versions are recorded, with the record that has them."""


def staged_versions(records: Iterable[Manifest]) -> StagedVersions:
    """Return who has the versions of which object; of two records the first one counts."""
    found: dict[ObjectKey, StagedRecord] = {}
    for one in records:
        record = readable_staged_record(one.body)
        for key in record.objects:
            found.setdefault(key, record)
    return found


def version_in(
    world: World, version: ContentVersion | OverrideVersion, key: ObjectKey
) -> Manifest | None:
    """Return an object as a version of its file has it, `None` if that cannot be read."""
    if world.blobs.get(version.path) == version.blob:
        return world.inputs.get(key)
    past = world.past.get(version.blob, ())
    return next((one for one in past if one.key == key), None)


def given_otherwise(before: World, now: World) -> set[ObjectKey]:
    """Return the objects of which two worlds may give a cluster another version."""
    found: set[ObjectKey] = set()
    records = {one.key for side in (before, now) for one in side.outputs_of_kind(STAGED_DELIVERY)}
    readable = before.past.keys() ^ now.past.keys()
    for record in records:
        was, is_now = before.outputs.get(record), now.outputs.get(record)
        if was is not is_now:
            found |= _moved_in(was, is_now)
        if readable and is_now is not None:
            found |= set(_read_from(readable, readable_staged_record(is_now.body)))
    return found


def _moved_in(before: Manifest | None, now: Manifest | None) -> set[ObjectKey]:
    """Return the objects of which two status files may say something else."""
    then, since = (
        StagedRecord() if one is None else readable_staged_record(one.body) for one in (before, now)
    )
    keys = then.objects.keys() | since.objects.keys()
    found = {key for key in keys if then.objects.get(key) != since.objects.get(key)}
    if (then.run and then.run.given) != (since.run and since.run.given):
        found |= {key for key, one in since.objects.items() if one.before}
    return found


def _read_from(blobs: Container[str], record: StagedRecord) -> Iterator[ObjectKey]:
    """Yield the objects of a record that have a version in one of some blobs."""
    for key, one in record.objects.items():
        if any(blob in blobs for v in one.before.values() for _, blob in v.files):
            yield key


def past_contents(world: World) -> Iterator[tuple[str, str]]:
    """Yield the git blobs of versions that clusters may still have, each with a path for it."""
    for manifest in world.outputs_of_kind(STAGED_DELIVERY):
        for one in readable_staged_record(manifest.body).objects.values():
            for version in {one.version, *one.before.values()}:
                for path, blob in version.files:
                    if world.blobs.get(path) != blob:
                        yield blob, path
