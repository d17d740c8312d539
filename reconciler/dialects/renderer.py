"""What decisions put onto clusters, as each API tells delivery of it.

Objects that carry manifests as the Works of SIG Multicluster do, which APIs took over, are filled
here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from reconciler.dialects.reads import Question, Reads
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import CopyReport
from reconciler.model.records import dataclass, field
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, World

Reach = Mapping[ClusterName, tuple[ObjectKey, ...]]
"""Which objects of a repository are on which cluster."""

UNKNOWN_OBJECTS = ObjectKey("", "", "", "")
"""In a reach: what a decision put onto a cluster cannot be known any more, so what is there stays
but for what another decision takes away."""

Fill = Callable[[Body, Sequence[Body]], Body]
"""Returns an object that carries others, with manifests in it."""


class Instruction(StrEnum):
    """What people ask not to happen to objects on a cluster, in the words of the APIs.

    The agents of each API keep to it. A transport that brings objects to clusters by other tools
    carries it, or says that it does not: `delivery/carriage.py` has the table.
    """

    SUSPENDED = "suspension.dispatching"
    PRESERVED = "preserveResourcesOnDeletion: true"
    REPLICAS_RETAINED = "resourcetemplate.karmada.io/retain-replicas"
    ABORTS = "conflictResolution: Abort"
    REPORT_DIFF = "applyStrategy.type: ReportDiff"
    TAKE_OVER = "applyStrategy.whenToTakeOver"
    DRIFTED = "applyStrategy.whenToApply: IfNotDrifted"
    UNFORCED = "ServerSideApply without force"
    ABANDON = "deleteStrategy.propagationPolicy: Abandon"
    ORPHAN = "deleteOption.propagationPolicy: Orphan"
    CREATE_ONLY = "updateStrategy.type: CreateOnly"
    READ_ONLY = "updateStrategy.type: ReadOnly"
    IGNORED_FIELDS = "updateStrategy.serverSideApply.ignoreFields"
    EXECUTOR = "executor"
    CHECKSUM = "sops.mac"


Instructions = Mapping[ObjectKey, frozenset[Instruction]]
"""What is asked of which object, by the object of the repository that it stems from."""
NO_INSTRUCTIONS: frozenset[Instruction] = frozenset()


class Instructed(NamedTuple):
    """That a manifest asks for something, and at which JSON pointer it does."""

    by: ObjectKey
    pointer: str
    instruction: Instruction


def _carried_by_none(carrier: Body, _manifests: Sequence[Body]) -> Body:
    return carrier


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterWork:
    """The manifests of one decision for one cluster.

    Attributes:
        cluster: Where they belong.
        carrier: The object by which the API itself would bring them there, without them; empty if
            it does so by none.
        fill: How that object carries them.
        manifests: What is to run there, in order; by the object of this repository that each
            stems from, whatever overrides have made of its name.
        asked: What is asked not to happen to them there.
    """

    cluster: ClusterName
    carrier: Body
    fill: Fill = _carried_by_none
    manifests: Mapping[ObjectKey, Body]
    asked: Instructions = field(default_factory=dict)

    @property
    def carried(self) -> Body:
        """The object by which the API itself would bring the manifests there, with them."""
        return self.fill(self.carrier, list(self.manifests.values()))


Wrap = Callable[[ObjectKey, ClusterWork], Body]
"""Returns an object of an API that carries the work of a decision, whatever API decided it."""
Wraps = Mapping[str, Wrap]
"""By the name of the transport that writes such objects."""


@dataclass(frozen=True, slots=True)
class NotRendered:
    """Why a decision cannot be rendered for a cluster; what is there stays."""

    cluster: ClusterName
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What one decision puts onto clusters.

    Attributes:
        path: Root-relative path of the file that a person edits if something is wrong.
        works: What clusters get, in the order of the decision.
        failed: The clusters that get nothing new.
        kept: Clusters that are being left, where what is there stays for now.
        leaving: What such clusters have, as far as that is known; it is written only where nothing
            stands yet, as where a transport is new, so that it goes when they are left.
        placed: Clusters and replicas that the decision says, in its order, `None` where it says
            nothing of replicas; empty where nothing was decided, as for a Namespace that goes
            everywhere.
        warnings: What a person should know, one sentence each.
        reads: What was asked for it beside what is told of it by its key.
    """

    path: str
    works: tuple[ClusterWork, ...] = ()
    failed: tuple[NotRendered, ...] = ()
    kept: frozenset[ClusterName] = frozenset()
    leaving: tuple[ClusterWork, ...] = ()
    placed: tuple[tuple[ClusterName, int | None], ...] = ()
    warnings: tuple[str, ...] = ()
    reads: Reads = frozenset()


class Affected(NamedTuple):
    """What two worlds render otherwise.

    Attributes:
        own: The decisions that are others themselves, with what is told of them by their keys.
        questions: What others may have asked that has another answer now.
    """

    own: Collection[ObjectKey]
    questions: Collection[Question] = ()


ReportOn = Callable[[ObjectKey, ClusterName], CopyReport | None]
"""Returns what a cluster says of its copy of an object, `None` if nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedContent:
    """An object that a change of content may reach stage by stage.

    Attributes:
        clusters: Those that it is placed on, the ones it leaves aside.
        replicas: Where it has its replicas, which are no content, `None` if nobody knows.
        content: Returns what of it is content.
        overrides: Returns the override policies that mean it, sorted.
        copies: Returns what a cluster reports of all that it brings there, `None` where it is by
            itself what clusters report.
        rolled_out_by: The decision that rolls it out by itself, `None` if none does.
    """

    clusters: frozenset[ClusterName] = frozenset()
    replicas: tuple[str, ...] | None = None
    content: Callable[[], Body] = dict
    overrides: Callable[[], tuple[Manifest, ...]] = tuple
    copies: Callable[[ReportOn, ClusterName], Sequence[CopyReport | None]] | None = None
    rolled_out_by: ObjectKey | None = None


class Renderer(Protocol):
    """What the decisions in one world put onto clusters."""

    def owners(self) -> Iterable[ObjectKey]:
        """Return the decisions that put something onto clusters, sorted."""

    def clusters(self) -> tuple[ClusterName, ...]:
        """Return the clusters of this API, sorted; the very same ones while they stay."""

    def render(self, owner: ObjectKey, /) -> Rendered | None:
        """Return what a decision puts where, `None` if there is no such decision."""

    def reach(self, owner: ObjectKey, /) -> Reach:
        """Return what of a decision may be where, on clusters that are being left, too.

        Nothing is rendered for that. Empty if there is no such decision.
        """

    def bringers(self, source: ObjectKey, /) -> Iterable[ObjectKey]:
        """Return the decisions that may put an object onto clusters, sorted."""

    def content(self, source: ObjectKey, /) -> PlacedContent | None:
        """Return an object as staged deliveries see it, `None` where no decision places it."""

    def unmarked(self, owner: ObjectKey, /) -> Reach:
        """Return what is to outlive its removal by what is written now, and not by what was.

        By cluster: what was delivered there has no mark that says so.
        """


class Renderers(Protocol):
    """Renderers of one world after the other; what they remember only saves work."""

    def of(self, world: World, settings: Settings, /) -> Renderer:
        """Return the renderer of a world as a pass leaves it."""

    def affected(self, before: World, now: World, /) -> Affected | None:
        """Return what may be rendered otherwise, `None` if all may."""


def fill_work(work: Body, manifests: Sequence[Body]) -> Body:
    """Return a Work with manifests in it, and without what its metadata leaves open.

    >>> fill_work({"metadata": {"name": "a", "labels": None}}, [{"kind": "Pod"}])
    {'metadata': {'name': 'a'}, 'spec': {'workload': {'manifests': [{'kind': 'Pod'}]}}}
    """
    spec = at(work, "spec")
    workload = {**at(spec, "workload"), "manifests": manifests}
    metadata = {name: one for name, one in at(work, "metadata").items() if one is not None}
    return {**work, "metadata": metadata, "spec": {**spec, "workload": workload}}
