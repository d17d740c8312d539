"""Law 20: what a computation reads is stated, and no more is looked at than that makes necessary.

Worlds record which of their documents each object reads in a round. Whoever is asked alone gets all
of these; whoever rests is looked at again where one of them differs; what is rendered of a decision
is rendered again. Clusters, and scores of them, are read as columns of the whole fleet: there it
counts whether the answer differs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial, wraps
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.asked import AskedAlone, SharedPart
from reconciler.core.dialects import DIALECTS, KINDS
from reconciler.core.inputs.world import with_projected
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import run_round
from reconciler.dialects.contract import DependsOnOthers
from reconciler.dialects.karmada.detector import detect
from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.dialects.object_pass import ObjectPass, Objects, Part
from reconciler.dialects.ocm.plan import Drafts
from reconciler.dialects.reads import Followed, FollowedIndex
from reconciler.dialects.renderer import Rendered, Renderers
from reconciler.model import fields
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import replace
from reconciler.model.remembered import Versioned
from reconciler.model.settings import CONFIGURATION, settings_in
from reconciler.model.world import Kinds, Manifest, World
from tests.bounded import examples
from tests.builders import Body, cluster, deployment, policy
from tests.core.asked.held_alone import hold_alone
from tests.core.test_law_asked_alone import PLAIN, SETS, files, unbalanced
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.fleet import (
    approval,
    budget,
    eviction,
    member,
    pick,
    placement,
    run,
    stage,
    staged,
)
from tests.dialects.kubefleet.test_eviction import placed
from tests.dialects.kubefleet.updaterun.test_runs import BEFORE, waiting
from tests.dialects.ocm.test_laws import hubs
from tests.dialects.recorded_reads import overlook
from tests.stories import Story, applied, linked, story
from tests.strategies import stories

INPUTS, OUTPUTS, FEEDBACK = "inputs", "outputs", "feedback"
MAPPINGS = (INPUTS, OUTPUTS, FEEDBACK)


class Document(NamedTuple):
    """A document that was looked for, be it there or not: in which mapping, and its key."""

    mapping: str
    key: ObjectKey


class Listing(NamedTuple):
    """All that there is of a kind in a mapping."""

    mapping: str
    kind: Kind


Read = Document | Listing


@dataclass
class Recorder:
    """What was read in a round over a world.

    Attributes:
        reads: By what was computed, what that read.
        computed: What was computed.
        parts: What each object came to that was decided.
    """

    world: World
    computed: set[ObjectKey] = field(default_factory=set)
    reads: dict[ObjectKey, set[Read]] = field(default_factory=dict)
    parts: dict[ObjectKey, Part] = field(default_factory=dict)
    reader: ObjectKey | None = None

    def note(self, read: Read) -> None:
        """Take down what is read, if somebody reads."""
        if self.reader is not None:
            self.reads.setdefault(self.reader, set()).add(read)

    def note_entry(self, mapping: object, key: object) -> None:
        """Take down what is looked for in a mapping of the world, or in what was decoded of one."""
        for name in MAPPINGS if self.reader is not None else ():
            if getattr(self.world, name) is mapping and isinstance(key, ObjectKey):
                self.note(Document(name, key))
                return
        if isinstance(key, ObjectKey):
            self.note(Document(INPUTS, key))  # a policy, say

    def note_body(self, manifest: Manifest) -> None:
        """Take down which document of the world says something, if it is of the world."""
        with self.reading(None):
            entries = [(name, getattr(self.world, name).get(manifest.key)) for name in MAPPINGS]
        for name, entry in entries:
            if entry is manifest:
                self.note(Document(name, manifest.key))

    @contextmanager
    def reading(self, key: ObjectKey | None) -> Iterator[None]:
        """Let an object read, or nobody."""
        before, self.reader = self.reader, key
        try:
            yield
        finally:
            self.reader = before


@dataclass
class Watched:
    """The objects of an API, of which is known what is decided anew."""

    objects: Any
    recorder: Recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objects, name)

    def decide(self, key: ObjectKey, demand: object) -> Part:
        """Decide an object, and note what it comes to."""
        self.recorder.computed.add(key)
        part: Part = self.objects.decide(key, demand)
        self.recorder.parts[key] = part
        return part


@contextmanager
def recorded(world: World) -> Iterator[Recorder]:
    """Record what is read of a world, and what is decided."""
    recorder = Recorder(world)
    with pytest.MonkeyPatch.context() as patch:
        _record_accessors(patch, recorder)
        _attribute(patch, recorder)
        yield recorder


def _record_accessors(patch: pytest.MonkeyPatch, recorder: Recorder) -> None:
    """Let what has the documents of a world say what it is asked."""

    def noting(owner: type, name: str, note: Callable[..., None]) -> None:
        real: Callable[..., object] = getattr(owner, name)

        @wraps(real)
        def noted(*asked: Any) -> object:
            note(*asked)
            return real(*asked)

        patch.setattr(owner, name, noted)

    for name in ("__getitem__", "get", "__contains__"):
        noting(Versioned, name, lambda mapping, key, *_: recorder.note_entry(mapping, key))
    for name in ("of_kind", "written_of_kind"):
        noting(World, name, lambda _, *kind: recorder.note(Listing(INPUTS, kind)))
    noting(World, "outputs_of_kind", lambda _, kind: recorder.note(Listing(OUTPUTS, kind)))
    real_body: Callable[[Manifest], object] = Manifest.body.fget  # type: ignore[attr-defined]  # a property

    def body(manifest: Manifest) -> object:
        recorder.note_body(manifest)
        return real_body(manifest)

    patch.setattr(Manifest, "body", property(body))


def _attribute(patch: pytest.MonkeyPatch, recorder: Recorder) -> None:
    """Let it be known who reads: an object that is claimed, drawn or decided, or nobody."""

    def by(owner: object, name: str, reader: Callable[..., ObjectKey | None]) -> None:
        real: Callable[..., object] = getattr(owner, name)

        @wraps(real)
        def attributed(*given: Any, **more: Any) -> object:
            key = reader(*given)
            with recorder.reading(key):
                found = real(*given, **more)
            if key is not None and found is not None:
                recorder.computed.add(key)
            return found

        patch.setattr(owner, name, attributed)

    real_answer = ObjectPass._answer

    def answer(decided: ObjectPass, key: ObjectKey, objects: Objects) -> Part:
        with recorder.reading(key):
            return real_answer(decided, key, cast(Objects, Watched(objects, recorder)))

    patch.setattr(ObjectPass, "_answer", answer)
    by(detect, "claim_workload", lambda reads, *_: binding_key(reads.key))
    by(Drafts, "_draw", lambda _, key: key)
    for owner, name in ((Kinds, "of"), (Followed, "follow"), (Followed, "keys")):
        by(owner, name, lambda *_: None)
    by(FollowedIndex, "follow", lambda *_: None)


def versioned(world: World) -> World:
    """The same world in mappings that can be recorded."""
    maps: Mapping[str, Any] = {name: Versioned(getattr(world, name)) for name in MAPPINGS}
    return replace(world, **maps, kinds=Kinds(), output_kinds=Kinds())


def record_round(world: World, now: datetime, memo: Memo | None = None) -> Recorder:
    """What a round reads and decides, by its objects; without any memory all of them.

    Args:
        world: In mappings that can be recorded.
        now: Moment of the round.
        memo: What earlier rounds remember.
    """
    memo = Memo() if memo is None else memo
    read = partial(settings_in, world)
    settings = memo.settings.recall(None, world.of_kind(*CONFIGURATION), read)
    with recorded(world) as recorder:
        run_round(world, settings, now, memo.dialects)
    return recorder


pytestmark = pytest.mark.cpu_seconds(120)  # a round for each document of many examples

MANY = settings(LAW, max_examples=examples(30))
SOME = settings(LAW, max_examples=examples(12))  # a round, or three, for each of their documents
CELLS = 2
SETTLED = 4  # passes until nothing moves any more


def settled(told: Story) -> Story:
    """The same once some passes were run."""
    for _ in range(SETTLED):
        told.files = applied(told.files, reconcile(told.world(), told.now))
        told.now += timedelta(seconds=100)
    return told


def in_cells(api: str) -> Story:
    """A settled fleet of an API."""
    return settled(Story(files=files(PLAIN[api].files(CELLS))))


def recordable(told: Story) -> World:
    """The world of a story as a pass has it, in mappings that can be recorded."""
    return with_projected(versioned(told.world()))


def unstated(told: Story) -> set[tuple[ObjectKey, Document | Listing]]:
    """What objects of a story read, and would not have if they were asked alone."""
    world, alone = recordable(told), AskedAlone()
    found = set()
    for key, reads in record_round(world, told.now).reads.items():
        part = alone.part(world, key)
        if not isinstance(part, DependsOnOthers):
            found |= {(key, read) for read in reads if is_lacking(world, part, read)}
    return found


def is_lacking(world: World, part: World, read: Document | Listing) -> bool:
    """Whether a part of a world answers otherwise than the whole."""
    if isinstance(read, Document):
        there = getattr(world, read.mapping).get(read.key)
        return there is not getattr(part, read.mapping).get(read.key)
    if read.mapping == OUTPUTS:
        return world.outputs_of_kind(read.kind) != part.outputs_of_kind(read.kind)
    return world.of_kind(*read.kind) != part.of_kind(*read.kind)


@MANY
@given(stories())
def test_what_an_object_reads_it_has_alone(told: Story) -> None:
    """Whatever a repository holds, before a pass and once nothing moves."""
    assert set() == unstated(told)
    assert set() == unstated(settled(told))


@MANY
@given(hubs(), st.sampled_from(SETS), st.booleans())
def test_so_it_has_on_a_hub(bodies: list[Body], sets: Sequence[Body], balanced: bool) -> None:  # noqa: FBT001  # drawn
    """Placements of Open Cluster Management, and sets that refer to them."""
    told = story(*sets, *(bodies if balanced else unbalanced(bodies)))

    assert set() == unstated(told)
    assert set() == unstated(settled(told))


@pytest.mark.parametrize("api", PLAIN)
def test_so_it_has_in_a_plain_fleet(api: str) -> None:
    """And everything is read there."""
    told = in_cells(api)

    assert set() == unstated(told)
    assert CELLS * 10 <= len(record_round(recordable(told), told.now).reads)


@dataclass
class Missed:
    """What should have been looked at after a change, and was not: who, and what differs."""

    read: set[tuple[ObjectKey, Document]]
    answers: set[tuple[ObjectKey, Document]]

    def __bool__(self) -> bool:
        return bool(self.read or self.answers)


def said(part: Part | None) -> object:
    """What an object comes to; explanations are functions, which are never equal."""
    return None if part is None else part._replace(explain=None)


def overlooked(told: Story) -> Missed:
    """What rounds that remember do not look at where one document differs, and is as it was."""
    world = recordable(told)
    memo, cold = Memo(), record_round(world, told.now)
    missed = Missed(set(), set())
    for document in documents(world):
        gone = {key for key, reads in cold.reads.items() if document in reads}
        edits = ((without(world, document), gone), (relabelled(world, document), set[ObjectKey]()))
        for then, readers in edits:
            after = record_round(then, told.now)
            for _ in range(2):
                record_round(world, told.now, memo)
            there = record_round(then, told.now, memo).computed
            back = record_round(world, told.now, memo).computed
            for before, now, looked_at in ((cold, after, there), (after, cold, back)):
                read = (readers & now.computed) - looked_at
                differing = {key for key in now.parts if differs(before, now, key)}
                missed.read |= {(key, document) for key in read}
                missed.answers |= {(key, document) for key in differing - looked_at}
    return missed


def differs(before: Recorder, now: Recorder, key: ObjectKey) -> bool:
    """Whether an object comes to something else in one round than in another."""
    return said(before.parts.get(key)) != said(now.parts.get(key))


def relabelled(world: World, document: Document) -> World:
    """The world with other labels on one of its documents."""
    found = getattr(world, document.mapping)
    manifest: Manifest = found[document.key]
    metadata = {**fields.mapping(manifest.body, "metadata"), "labels": {"env": "other"}}
    other = replace(manifest, held={**manifest.body, "metadata": metadata})
    return replace(
        world,
        **{document.mapping: found.branched({document.key: other})},
        kinds=world.kinds.next(),
        output_kinds=world.output_kinds,
    )


def documents(world: World) -> list[Document]:
    """What people wrote and clusters report, but for the configuration, which all read."""
    return [
        Document(mapping, key)
        for mapping in (INPUTS, FEEDBACK)
        for key in sorted(getattr(world, mapping))
        if key[:2] != CONFIGURATION
    ]


def without(world: World, document: Document) -> World:
    """The world without one of its documents."""
    rest = getattr(world, document.mapping).branched({}, [document.key])
    return replace(
        world, **{document.mapping: rest}, kinds=world.kinds.next(), output_kinds=world.output_kinds
    )


@SOME
@given(stories())
def test_who_read_what_differs_is_looked_at(told: Story) -> None:
    """And so is whoever has another answer, for whatever reason."""
    assert not overlooked(settled(told))


@pytest.mark.parametrize("api", PLAIN)
def test_so_it_is_in_a_plain_fleet(api: str) -> None:
    """Whatever goes, and whatever comes."""
    assert not overlooked(in_cells(api))


COLUMNS = "a cluster is read as part of its fleet, so whoever may choose it looks at it"
NAMED = "a record names the first twenty clusters that were rejected, so it looks at them"
CONTENT = "what a placement carries is its own, and is not what it decides"
LOOKED_AT: Mapping[tuple[str, str], tuple[int, str]] = {
    ("karmada", "image"): (1, CONTENT),
    ("karmada", "label"): (10, COLUMNS),
    ("karmada", "taint"): (10, COLUMNS),
    ("ocm", "label"): (10, COLUMNS),
    ("ocm", "taint"): (10, COLUMNS),
    ("ocm", "resources"): (10, COLUMNS),
    ("ocm", "score"): (5, COLUMNS),
    ("kubefleet", "override"): (1, CONTENT),
    ("kubefleet", "label"): (20, NAMED),
    ("kubefleet", "taint"): (20, NAMED),
    ("kubefleet", "report"): (1, CONTENT),
}
"""By API and change how many are looked at of which most have no other answer, and why."""
MOST = 3  # times as many are looked at as have another answer


@dataclass(frozen=True)
class Visits:
    """How many objects a round looks at after a change, and how many have another answer."""

    looked_at: int
    differing: int


def visits_after_changes(api: str) -> Mapping[str, Visits]:
    """What each change of a fleet has a round look at that remembers the one before."""
    told, memo, found = in_cells(api), Memo(), {}
    world = recordable(told)
    for name, change in PLAIN[api].changes.items():
        for _ in range(2):
            record_round(world, told.now, memo)
        before = record_round(world, told.now).parts
        told.files |= files(change)
        world = with_projected(linked(told.world(), world))
        after = record_round(world, told.now).parts
        differing = {key for key in after if said(after[key]) != said(before.get(key))}
        computed = record_round(world, told.now, memo).computed
        found[name] = Visits(len(computed), len(differing))
        world = with_projected(linked(settled(told).world(), world))
    return found


@pytest.mark.parametrize("api", PLAIN)
def test_no_more_is_looked_at(api: str) -> None:
    """A change in one cell concerns that cell; what is listed may only become less."""
    found = visits_after_changes(api)
    more = {
        (api, change): visits.looked_at
        for change, visits in found.items()
        if visits.looked_at > MOST * visits.differing
    }

    assert {key: most for key, (most, _why) in LOOKED_AT.items() if key[0] == api} == more


def rendered(renderers: Renderers, world: World) -> tuple[Recorder, dict[ObjectKey, Rendered]]:
    """What each decision puts onto clusters, and what was read for it."""
    found = {}
    with recorded(world) as recorder:
        renderer = renderers.of(world, settings_in(world))
        for owner in renderer.owners():
            with recorder.reading(owner):
                one = renderer.render(owner)
            if one is not None:
                found[owner] = one
    return recorder, found


def not_rendered_again(told: Story) -> set[tuple[ObjectKey, Document]]:
    """Who read a document for what it puts onto clusters, and is not rendered when that goes."""
    world, missed = recordable(told), set()
    for dialect in DIALECTS:
        recorder, before = rendered(dialect.renderers(), world)
        left = [Document(OUTPUTS, key) for key in world.outputs]
        for document in (*documents(world), *left):
            then = without(world, document)
            affected = dialect.renderers().affected(world, then)
            if affected is None:
                continue
            asked = frozenset(affected.questions)
            again = {*affected.own, *(key for key, one in before.items() if one.reads & asked)}
            readers = {key for key, reads in recorder.reads.items() if document in reads}
            after = rendered(dialect.renderers(), then)[1]
            differing = {one for one in after if after[one] != before.get(one)}
            missed |= {(one, document) for one in (readers & after.keys() | differing) - again}
    return {(one, document) for one, document in missed if not is_held(one, document)}


def is_held(owner: ObjectKey, document: Document) -> bool:
    """Whether a placement finds a document by its hash: once it is gone, in an earlier version."""
    is_content = document.key.group not in KINDS.groups
    return owner.group == "placement.kubernetes-fleet.io" and is_content


@SOME
@given(stories())
def test_who_read_what_differs_is_rendered_again(told: Story) -> None:
    """And so is whoever puts something else onto clusters."""
    assert set() == not_rendered_again(settled(told))


@pytest.mark.parametrize("api", PLAIN)
def test_so_it_is_rendered_in_a_plain_fleet(api: str) -> None:
    """Whatever goes."""
    assert set() == not_rendered_again(in_cells(api))


def waiting_for_overrides() -> Story:
    """A policy that claims once its override policy is there, and it is."""
    override = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": {"name": "o", "namespace": "default"},
        "spec": {"overrideRules": []},
    }
    return story(cluster("a"), policy(dependentOverrides=["o"]), override, deployment())


def evicting() -> Story:
    """A cluster is to be evicted, and a budget forbids it."""
    told = placed(pick(1), "a", "b")
    return told.put(eviction("a"), budget({"minAvailable": 1}))


def of_a_namespace() -> Story:
    """A placement of a Namespace, with all that is in it."""
    return settled(story(member("a"), placement(), deployment()))


def begun() -> Story:
    """A staged update run that was not looked at yet."""
    return staged(stage("canary"), stage("prod"), a="canary", b="prod").put(run())


def approved() -> Story:
    """A staged update run of which a person approved a stage that waits for it."""
    told = waiting()
    return told.put(approval(told, BEFORE, "prod"))


STATED: Sequence[tuple[Callable[[], Story], str, str]] = (
    (partial(in_cells, "karmada"), INPUTS, "Deployment"),
    (partial(in_cells, "karmada"), INPUTS, "PropagationPolicy"),
    (partial(in_cells, "karmada"), OUTPUTS, "ResourceBinding"),
    (waiting_for_overrides, INPUTS, "OverridePolicy"),
    (partial(in_cells, "ocm"), INPUTS, "Placement"),
    (partial(in_cells, "ocm"), INPUTS, "ManifestWorkReplicaSet"),
    (partial(in_cells, "ocm"), OUTPUTS, "Placement"),
    (partial(in_cells, "ocm"), OUTPUTS, "PlacementDecision"),
    (partial(in_cells, "ocm"), OUTPUTS, "ManifestWorkReplicaSet"),
    (partial(in_cells, "kubefleet"), INPUTS, "ClusterResourcePlacement"),
    (partial(in_cells, "kubefleet"), INPUTS, "ClusterRole"),
    (partial(in_cells, "kubefleet"), OUTPUTS, "ClusterResourcePlacement"),
    (partial(in_cells, "kubefleet"), OUTPUTS, "ClusterResourceBinding"),
    (partial(in_cells, "kubefleet"), OUTPUTS, "ClusterResourceSnapshot"),
    (partial(in_cells, "kubefleet"), OUTPUTS, "ClusterSchedulingPolicySnapshot"),
    (of_a_namespace, INPUTS, "Deployment"),
    (evicting, INPUTS, "ClusterResourcePlacementEviction"),
    (evicting, INPUTS, "ClusterResourcePlacementDisruptionBudget"),
    (begun, INPUTS, "ClusterStagedUpdateRun"),
    (begun, INPUTS, "ClusterStagedUpdateStrategy"),
    (approved, INPUTS, "ClusterApprovalRequest"),
    (approved, OUTPUTS, "ClusterStagedUpdateRun"),
)
"""What of a world objects are said to read: where, and what kind of it."""


def is_answered_alone(told: Story) -> bool:
    """Whether each object reads what it is said to read, and is told what all are told."""
    try:
        hold_alone(told.world(), told.now, AskedAlone())
    except AssertionError:
        return False
    return not unstated(told)


@pytest.mark.parametrize(
    ("begin", "mapping", "kind"),
    [pytest.param(*row, id=f"{row[2]}-{row[1]}-{number}") for number, row in enumerate(STATED)],
)
def test_what_is_stated_is_needed(
    begin: Callable[[], Story], mapping: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one kind of it is left out, somebody asked alone does not have what it reads."""
    told, real = begin(), SharedPart.with_own
    assert is_answered_alone(told)

    def lacking(shared: SharedPart, world: World, *own: Iterable[ObjectKey]) -> World:
        stated = dict(zip((INPUTS, OUTPUTS), own, strict=True))
        stated[mapping] = [key for key in stated[mapping] if key.kind != kind]
        return real(shared, world, *stated.values())

    monkeypatch.setattr(SharedPart, "with_own", lacking)
    assert not is_answered_alone(told)


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("karmada", "policies"),
        ("ocm", "bindings"),
        ("ocm", "placement"),
        ("ocm", "set"),
        ("kubefleet", "named"),
        ("kubefleet", "override"),
    ],
)
def test_what_is_recorded_is_needed(api: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one kind of question is not, somebody is not looked at who read what differs.

    Questions about clusters, and those that plain fleets do not ask, are left out one by one beside
    the rules that ask them (`test_each_kind_of_read_is_needed`).
    """
    overlook(kind, monkeypatch)
    assert overlooked(in_cells(api))
