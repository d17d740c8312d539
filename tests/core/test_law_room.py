"""Laws of room: no cluster gets more than it holds, whether room is reported or protected."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from tests.bounded import examples
from tests.builders import DYNAMIC, configuration, deployment, divided, policy, selector, text
from tests.core.test_law_memo import assert_equal, hold_rounds, moments
from tests.core.test_laws import LAW, contents, relative, shuffled
from tests.dialects.karmada.test_protected_room import DUPLICATED, room, statically
from tests.dialects.kubefleet.fleet import BINDINGS, fixed, pick
from tests.dialects.kubefleet.test_decide import room as member
from tests.dialects.kubefleet.test_decide import selecting
from tests.stories import Story, applied, story
from tests.strategies import (
    HARMS,
    MALFORMED,
    SECONDS,
    edit,
    harm,
    moments_between,
    objects,
    report,
    reported,
)

HUNDREDS_OF_PASSES = pytest.mark.cpu_seconds(120)  # a hundred passes over a hundred objects

STRATEGIES = {
    "duplicated": DUPLICATED,
    "static": statically(a=1),
    "dynamic": DYNAMIC,
    "aggregated": divided("Aggregated"),
}
PICKS = (None, pick(1), fixed("a"))
EACH = 25  # workloads of each API
STEP = timedelta(seconds=20)
DELAY = 6  # steps that a report is late at most, and that a cluster takes to begin
STEPS = 34
QUIET = 14
Counts = dict[tuple[str, str], int]
"""Namespace and name of a Deployment to its replicas; each asks for one cpu."""


@dataclass(frozen=True)
class Report:
    """What a cluster observed at a step, of a Deployment or, without one, of its capacity."""

    arrives: int
    observed: int
    copies: tuple[tuple[str, str], int] | None
    free: int
    others: int


@dataclass
class Cluster:
    """A cluster as it really is, and what of that is on its way."""

    random: Random
    cpu: int
    running: Counts = field(default_factory=dict)
    others: int = 0
    reported_others: int = 0
    told: list[tuple[int, Counts]] = field(default_factory=list)
    sent: list[Report] = field(default_factory=list)
    newest: int = 0

    @property
    def used(self) -> int:
        """What runs, whosever it is."""
        return self.others + sum(self.running.values())

    def live(self, step: int, decided: Counts, *, quiet: bool) -> None:
        """Begin and end what was decided a while ago; others come and go where there is room."""
        self.told.append((step + (0 if quiet else self.random.randrange(DELAY)), dict(decided)))
        due = [number for number, (at, _) in enumerate(self.told) if at <= step]
        if due:  # what was told before that is outdated
            self.running = {key: count for key, count in self.told[due[-1]][1].items() if count}
            self.told = self.told[due[-1] + 1 :]
        if not quiet and self.random.random() < 0.4:
            self.others = max(0, self.others + self.random.choice((-2, -1, 1, 2)))
            self.others = min(self.others, max(0, self.cpu - sum(self.running.values())), 8)

    def report(self, step: int, *, quiet: bool) -> None:
        """Send what is so now; some of it is lost, and all may be late."""
        for copies in (*self.running.items(), None):
            if quiet or self.random.random() < 0.5:
                late = 0 if quiet else self.random.randrange(DELAY)
                free = self.cpu - self.used
                self.sent.append(Report(step + late, step, copies, free, self.others))

    def arrived(self, step: int) -> Iterator[Report]:
        """Yield what arrives now, in any order; capacity comes last, and not if it is outdated."""
        due = [one for one in self.sent if one.arrives <= step]
        self.sent = [one for one in self.sent if one.arrives > step]
        self.random.shuffle(due)
        for one in sorted(due, key=lambda one: one.copies is None):
            if one.copies is not None:
                self.newest = max(self.newest, one.observed)
                yield one
            elif one.observed >= self.newest:
                self.newest, self.reported_others = one.observed, one.others
                yield one


def commits(random: Random) -> list[list[Body]]:
    """Everything that people write, in any order: what belongs together comes together."""
    found: list[list[Body]] = []
    for number in range(EACH):
        kind = random.choice(sorted(STRATEGIES))
        name = f"{kind}-{number}"
        replicas = random.randint(1, 4)
        found.append([deployment(name, replicas=replicas, cpu="1", labels={"how": kind})])
        space = f"x{number}"
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
        web = deployment(namespace=space, replicas=random.randint(1, 4), cpu="1")
        found.append([namespace, web, selecting(space, random.choice(PICKS))])
    random.shuffle(found)
    return found


def decided(told: Story, wanted: Counts) -> Counts:
    """What the decisions have on the cluster; a placement brings all that is wanted."""
    found: Counts = {}
    for path in told.outputs:
        if path.startswith("status/resourcebindings.work.karmada.io/"):
            spec = mapping(told.output(path), "spec")
            for one in bodies(spec, "clusters"):
                found["default", str(mapping(spec, "resource")["name"])] = int(str(one["replicas"]))
        elif path.startswith(f"{BINDINGS}/"):
            labels = mapping(mapping(told.output(path), "metadata"), "labels")
            space = str(labels["kubernetes-fleet.io/parent-CRP"])
            found[space, "web"] = wanted[space, "web"]
    return found


def file_report(told: Story, report: Report, cpu: int) -> None:
    """Write a report into the repository, of a cluster with so much cpu."""
    if report.copies is None:
        free, used = str(report.free), str(cpu - report.free)
        told.put(room("a", str(cpu), used=used, pods=1000), member("a", free, whole=str(cpu)))
        return
    (space, name), count = report.copies
    body = {**deployment(name, namespace=space), "status": {"replicas": count}}
    told.files[f"feedback/a/{space}-{name}.yaml"] = text(body)


def simulate(seed: int, cpu: int) -> tuple[Story, Cluster, dict[tuple[str, str], int]]:
    """Run a fleet of one cluster through its commits and reports, and hold it at each pass."""
    random = Random(seed)  # noqa: S311  # a simulation
    cluster = Cluster(random, cpu)
    told = story(
        configuration(capacity={"protect": True}),
        room("a", str(cpu), pods=1000),
        member("a", str(cpu), whole=str(cpu)),
        *(
            policy(
                kind,
                selectors=[selector(labelSelector={"matchLabels": {"how": kind}})],
                placement={"replicaScheduling": how},
            )
            for kind, how in STRATEGIES.items()
        ),
    )
    waiting, wanted, memo = commits(random), Counts(), Memo()
    before: Counts = {}
    for step in range(STEPS + QUIET):
        quiet = step >= STEPS
        for batch in [waiting.pop() for _ in range(min(len(waiting), random.randrange(5)))]:
            told.put(*batch)
            wanted |= wanted_by(batch)
        for arrived in cluster.arrived(step):
            file_report(told, arrived, cpu)
        memo = Memo() if random.random() < 0.2 else memo
        told.now += 4 * STEP if quiet else STEP  # so that what nobody reports ends in the quiet
        told.files = applied(told.files, reconcile(told.world(), told.now, memo=memo))
        now = decided(told, wanted)
        if any(count > before.get(key, 0) for key, count in now.items()):
            hold(cluster, now, before)
        before = now
        cluster.live(step, now, quiet=quiet)
        cluster.report(step, quiet=quiet)
    assert not waiting
    return told, cluster, wanted


def wanted_by(batch: Sequence[Body]) -> Counts:
    """The replicas of the Deployments among some bodies."""
    found: Counts = {}
    for body in batch:
        if body["kind"] == "Deployment":
            named = mapping(body, "metadata")
            replicas = int(str(mapping(body, "spec")["replicas"]))
            found[str(named["namespace"]), str(named["name"])] = replicas
    return found


def hold(cluster: Cluster, now: Counts, before: Counts) -> None:
    """Hold that all of it fits beside what others were last reported to have."""
    keys = {*now, *cluster.running}
    ours = sum(max(now.get(key, 0), cluster.running.get(key, 0)) for key in keys)
    assert ours + cluster.reported_others <= cluster.cpu, (now, before)


@HUNDREDS_OF_PASSES
@pytest.mark.parametrize("seed", range(4))
def test_a_cluster_never_gets_more_than_it_holds(seed: int) -> None:
    """All of them ask for some 125 cpu; when all is reported, whatever waits does not fit."""
    told, cluster, wanted = simulate(seed, 60)
    left = cluster.cpu - cluster.used
    now = decided(told, wanted)

    lacks = {key: count - now.get(key, 0) for key, count in wanted.items()}
    lacking = {key: count for key, count in lacks.items() if count}
    assert lacking
    assert left < min(lacking.values())


@HUNDREDS_OF_PASSES
@pytest.mark.parametrize("seed", range(2))
def test_where_all_fits_all_is_placed(seed: int) -> None:
    """The same with room enough."""
    told, _, wanted = simulate(seed, 400)

    assert wanted == decided(told, wanted)
    assert not any("clusterledgers" in path for path in told.files)


CHAINS_OF_PASSES = pytest.mark.cpu_seconds(60)

SILENT_STRATEGIES = {"duplicated": DUPLICATED, "static": statically(a=1), "dynamic": DYNAMIC}
GAPS = (20, 601, 86_400)
NUMBERS = st.integers(0, 4)
SILENT_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("karmada"), st.sampled_from(sorted(SILENT_STRATEGIES)), NUMBERS),
        st.tuples(st.just("kubefleet"), st.just(""), NUMBERS),
        st.tuples(st.just("gone"), st.just(""), NUMBERS),
        st.tuples(st.just("whole"), st.just(""), st.integers(0, 16)),
        st.tuples(st.just("others"), st.just(""), st.integers(0, 4)),
        st.tuples(st.just("protect"), st.just(""), NUMBERS),
    ),
    min_size=4,
    max_size=9,
)


class SilentFleet:
    """One cluster that never reports a copy, seen by two APIs."""

    def __init__(self, whole: int) -> None:
        """Begin with so much cpu, and without protection."""
        self.whole, self.others, self.wanted = whole, 0, Counts()
        self.bodies: dict[tuple[str, str], list[Body]] = {}
        self.protect = False
        policies = (
            policy(
                kind,
                selectors=[selector(labelSelector={"matchLabels": {"how": kind}})],
                placement={"replicaScheduling": how},
            )
            for kind, how in SILENT_STRATEGIES.items()
        )
        self.told: Story = story(*policies)
        self.state()
        self.memo = Memo()

    def state(self) -> None:
        """Write what the cluster and the configuration say."""
        whole, used = str(self.whole), str(min(self.others, self.whole))
        free = str(self.whole - int(used))
        self.told.put(
            configuration(capacity={"protect": self.protect}),
            room("a", whole, used=used, pods=1000),
            member("a", free, whole=whole),
        )

    def step(self, kind: str, how: str, number: int) -> None:
        """Have people change one thing."""
        if kind == "karmada":
            self.write([deployment(f"{how}-{number}", replicas=4, cpu="1", labels={"how": how})])
        elif kind == "kubefleet":
            space = f"x{number}"
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
            web = deployment(namespace=space, replicas=3, cpu="1")
            self.write([namespace, web, selecting(space)])
        elif kind == "gone" and self.wanted:
            key = sorted(self.wanted)[number % len(self.wanted)]
            del self.wanted[key]
            self.told.drop(*self.bodies.pop(key))
        else:
            self.whole = number if kind == "whole" else self.whole
            self.others = number if kind == "others" else self.others
            self.protect |= kind == "protect"
            self.state()

    def write(self, bodies: list[Body]) -> None:
        """Write a workload with what belongs to it."""
        self.told.put(*bodies)
        self.wanted |= wanted_by(bodies)
        self.bodies |= dict.fromkeys(wanted_by(bodies), bodies)

    def run(self, seconds: int) -> Counts:
        """Run a pass so much later; return what is placed."""
        self.told.now += timedelta(seconds=seconds)
        outcome = reconcile(self.told.world(), self.told.now, memo=self.memo)
        self.told.files = applied(self.told.files, outcome)
        found = decided(self.told, {**dict.fromkeys(DELETED, 0), **self.wanted})
        return {key: count for key, count in found.items() if count and key in self.wanted}


DELETED = tuple((f"x{number}", "web") for number in range(5))


@CHAINS_OF_PASSES
@settings(LAW, max_examples=examples(40))
@given(
    st.integers(0, 16),
    st.sampled_from(("", "late")),
    SILENT_STEPS,
    st.lists(st.sampled_from(GAPS), min_size=9, max_size=9),
)
def test_a_silent_cluster_is_never_over_committed(
    whole: int, late: str, steps: list[tuple[str, str, int]], gaps: list[int]
) -> None:
    """However long ago reservations ended, and whoever lowered what it has; what is there stays.

    What waits for a part of its replicas may get more of them once a reservation has ended.
    """
    fleet = SilentFleet(whole)
    if not late:
        fleet.step("protect", "", 0)
    before: Counts = {}
    for (kind, how, number), gap in zip(steps, gaps, strict=False):
        fleet.step(kind, how, number)
        now = fleet.run(gap)

        stays = {key: count for key, count in before.items() if key in fleet.wanted}
        assert all(count <= now.get(key, 0) for key, count in stays.items())
        more = sum(now.values()) > sum(stays.values())
        if fleet.protect and more:
            event("placed within room")
            assert sum(now.values()) <= fleet.whole
        if not fleet.protect:
            event("without protection")
        before = now
    settled = fleet.run(601)
    while (more_by_then := fleet.run(601)) != settled:  # at most until the cluster is full
        settled = more_by_then

    assert not any("clusterledgers" in path for path in fleet.told.files)


@CHAINS_OF_PASSES
def test_room_of_a_silent_cluster_is_free_once_its_owner_goes() -> None:
    """Who waits is placed then, a day after the reservation ended."""
    fleet = SilentFleet(4)
    for kind in ("protect", "karmada"):
        fleet.step(kind, "duplicated", 0)
    assert {("default", "duplicated-0"): 4} == fleet.run(20)

    fleet.step("karmada", "duplicated", 1)
    assert {("default", "duplicated-0"): 4} == fleet.run(86_400)

    fleet.step("gone", "", 0)
    assert {("default", "duplicated-1"): 4} == fleet.run(20)


@CHAINS_OF_PASSES
def test_whoever_looks_at_all_objects_decides_as_whoever_looks_at_some() -> None:
    """Room that is given up in a round goes to nobody before all who wait are asked, in turn."""
    fleet = SilentFleet(5)
    fleet.step("protect", "", 0)
    fleet.write([_copies("duplicated-0", 4)])
    fleet.run(20)
    fleet.step("kubefleet", "", 0)  # its turn is first, and 3 are more than the 1 that is left
    fleet.write([_copies("duplicated-1", 2)])
    fleet.run(20)
    fleet.run(601)  # nothing is reserved any more
    fleet.write([_copies("duplicated-0", 1)])

    told, now = fleet.told, fleet.told.now + timedelta(seconds=20)
    afresh = applied(told.files, reconcile(told.world(), now))

    assert {("default", "duplicated-0"): 1, ("x0", "web"): 3} == fleet.run(20)
    assert afresh == fleet.told.files


def _copies(name: str, replicas: int) -> Body:
    return deployment(name, replicas=replicas, cpu="1", labels={"how": "duplicated"})


FEW = settings(LAW, max_examples=examples(30))
ON = (
    configuration(capacity={"protect": True}),
    configuration(capacity={"protect": True, "reservationSeconds": 45}),
    configuration(
        capacity={"protect": True},
        karmada={"federatedQuotaEnforcement": True},
        delivery={"folders": {}},
    ),
)


def scarce(body: Body, cpu: str, pods: int) -> Body:
    """A cluster that has a status with so much left; anything else as it is."""
    status = mapping(body, "status")
    if not status:
        return body
    if body["kind"] == "Cluster":
        has = {"cpu": cpu, "memory": "1Ti", "pods": str(pods)}
        return {**body, "status": {**status, "resourceSummary": {"allocatable": has}}}
    if body["kind"] == "MemberCluster":
        usage = {name: {"cpu": cpu} for name in ("capacity", "allocatable", "available")}
        seen = {**usage, "observationTime": "2026-11-23T00:00:00Z"}
        return {**body, "status": {**status, "resourceUsage": seen}}
    return body


@st.composite
def crowded(draw: st.DrawFn) -> list[Body]:
    """The objects of one repository that protects the little room that there is."""
    found = [one for one in draw(objects()) if one["kind"] != "ReconcilerConfiguration"]
    room = st.tuples(st.sampled_from(("1", "3", "40")), st.sampled_from((2, 5, 40)))
    return [*(scarce(one, *draw(room)) for one in found), draw(st.sampled_from(ON))]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Such a repository after up to two passes, edited since."""
    told = Story().put(*draw(crowded()))
    for _ in range(draw(st.integers(0, 2))):
        report(told, draw(reported))
        told.files = applied(told.files, reconcile(told.world(), told.now))
        edit(told, draw(crowded()), draw(st.integers(0, 15)))
        harm(told, draw(st.sampled_from(HARMS)), draw(st.integers(0, 20)))
        told.now += timedelta(seconds=1 + draw(SECONDS))
    return told


@CHAINS_OF_PASSES
@FEW
@given(stories(), st.integers(0, 1000))
def test_deterministic(told: Story, seed: int) -> None:
    """The order in which objects come changes nothing."""
    world = told.world()

    outcome = reconcile(world, told.now)
    event(f"{any('ledger' in one.path for one in outcome.changes)}: something is reserved")
    assert outcome == reconcile(shuffled(world, seed), told.now)


@CHAINS_OF_PASSES
@FEW
@given(stories())
def test_settled(told: Story) -> None:
    """Reconciling the result again at the same moment changes nothing."""
    told.files = applied(told.files, reconcile(told.world(), told.now))

    assert () == reconcile(told.world(), told.now).changes


@CHAINS_OF_PASSES
@FEW
@given(stories())
def test_timed(told: Story) -> None:
    """Before `recheck_at` a pass changes what it changes now, and once committed nothing."""
    world = told.world()
    first = reconcile(world, told.now)
    until = first.recheck_at or told.now + timedelta(days=40)
    expected = relative(first, told.now, told.now)
    for moment in moments_between(told.now, until):
        assert expected == relative(reconcile(world, moment), moment, told.now)
    told.files = applied(told.files, first)
    world = told.world()
    for moment in moments_between(told.now, until):
        assert () == reconcile(world, moment).changes


@CHAINS_OF_PASSES
@FEW
@given(stories(), st.sampled_from(sorted(MALFORMED)))
def test_local(told: Story, path: str) -> None:
    """A malformed object changes nothing for those that do not refer to it."""
    told.run()
    before = contents(reconcile(told.world(), told.now))
    told.files[path] = MALFORMED[path]
    assume(not any(held.beside for held in told.world().held))
    changed = contents(reconcile(told.world(), told.now))
    ours = {"status/faults.yaml", "status/reconciler.yaml"}

    others = {key for key in changed.keys() - ours if "/zz/" not in key}
    assert {key: before[key] for key in before.keys() - ours} == {
        key: changed[key] for key in others
    }


@CHAINS_OF_PASSES
@FEW
@given(stories(), crowded(), crowded(), st.integers(0, 15))
def test_level_triggered(told: Story, first: list[Body], second: list[Body], share: int) -> None:
    """Several edits taken together give what their squash gives."""
    squashed = copy.deepcopy(told)
    for edited in (first, second):
        edit(told, edited, share)
        told.world()
    squashed.files = dict(told.files)

    assert reconcile(squashed.world(), told.now) == reconcile(told.world(), told.now)


@CHAINS_OF_PASSES
@settings(LAW, max_examples=examples(8))
@given(
    stories(),
    st.lists(
        st.tuples(crowded(), st.sampled_from((0, 1, 3, 15)), reported, SECONDS),
        min_size=1,
        max_size=4,
    ),
)
def test_a_memo_changes_nothing(
    told: Story, edits: list[tuple[list[Body], int, tuple[str, Body] | None, int]]
) -> None:
    """Whatever happens between passes, and whenever they run, a memo only saves work."""
    memo = Memo()
    for edited, share, found, seconds in edits:
        told.files = applied(told.files, assert_equal(told.world(), told.now, memo))
        world = told.world()
        quiet = assert_equal(world, told.now, memo)
        for number, moment in enumerate(moments(told.now, quiet)):
            assert_equal(world if number % 2 else told.world(), moment, memo)
        report(told, found)
        edit(told, edited, share)
        told.now += timedelta(seconds=1 + seconds)
    assert_equal(told.world(), told.now, memo)


@CHAINS_OF_PASSES
@settings(LAW, max_examples=examples(15))
@given(stories(), crowded())
def test_rounds_that_look_at_everything_end_alike(told: Story, bodies: list[Body]) -> None:
    """As those that look at what moved."""
    memo = Memo()
    outcome, _ = hold_rounds(told, memo)
    told.files = applied(told.files, outcome)
    edit(told, bodies, 3)
    told.now += timedelta(seconds=61)
    hold_rounds(told, memo)
