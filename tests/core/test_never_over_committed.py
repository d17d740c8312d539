"""No cluster gets more than it can hold, whatever becomes of its reports; what fits is placed.

A simulated cluster begins and ends what it is told to at some later moment, has pods of others come
and go, and reports its copies and its capacity late, in another order, or not at all. Only this is
kept: a report of capacity is not older than the copies that were reported before it, since whoever
reports observes the capacity last; and nobody is silent for longer than a reservation stands.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import pytest

from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from tests.builders import DYNAMIC, configuration, deployment, divided, policy, selector, text
from tests.dialects.karmada.test_protected_room import DUPLICATED, room, statically
from tests.dialects.kubefleet.fleet import BINDINGS, fixed, pick
from tests.dialects.kubefleet.test_protected_room import room as member
from tests.dialects.kubefleet.test_protected_room import selecting
from tests.stories import Story, applied, story

pytestmark = pytest.mark.cpu_seconds(120)  # a hundred passes over a hundred objects

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


@pytest.mark.parametrize("seed", range(2))
def test_where_all_fits_all_is_placed(seed: int) -> None:
    """The same with room enough."""
    told, _, wanted = simulate(seed, 400)

    assert wanted == decided(told, wanted)
    assert not any("clusterledgers" in path for path in told.files)
