"""Law 22: where it is asked for, nothing that passes write takes a ready replica away too early."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import next_world
from reconciler.imports.importers import report_of
from reconciler.model.fields import mapping
from reconciler.model.world import World
from reconciler.rebalance.surge import SURGE, Surge, decode_surge, surge_in
from tests.bounded import examples
from tests.builders import (
    DYNAMIC,
    Body,
    cluster,
    cluster_status,
    configuration,
    deployment,
    groups,
    policy,
    rebalancer,
    schedule_trigger,
    taint,
    target,
    text,
)
from tests.core.test_laws import LAW
from tests.core.test_make_before_break import OPTIONS, delivered
from tests.dialects.karmada.test_protected_room import room
from tests.dialects.kubefleet import fleet
from tests.dialects.kubefleet import test_make_before_break as fleet_test
from tests.dialects.kubefleet.test_decide import room as fleet_room
from tests.dialects.ocm import test_make_before_break as hub_test
from tests.dialects.ocm import worlds as hub
from tests.stories import Story, applied, linked, story

pytestmark = pytest.mark.cpu_seconds(120)  # many examples of whole passes

CLUSTERS = ("a", "b", "c")
HAPPENS = ("apply", "apply", "start", "report", "hear", "hear", "look", "look", "people")
PROTECTED = (*HAPPENS, "usage", "usage")
STATUS = cluster_status(pods=100)


@dataclass
class Member:
    """A cluster: what it applied last, how many replicas are ready, which reports are under way.

    What others take of its cpu stands beside, and what of that it reported last.
    """

    applied: Body = field(default_factory=dict)
    ready: int = 0
    updated: int = 0
    full: bool = False
    others: int = 0
    reported_others: int = 0
    reported_used: int = 0
    generation: int = 0
    sent: list[str] = field(default_factory=list)

    @property
    def wanted(self) -> int:
        """How many replicas it runs."""
        return cast(int, mapping(self.applied, "spec").get("replicas", 0))

    @property
    def template(self) -> Body:
        """What its pods are made from."""
        return mapping(mapping(self.applied, "spec"), "template")

    def apply(self, body: Body) -> None:
        """Take what is delivered; what is not ready stops first, and no new pod is ready yet."""
        if mapping(body, "spec") != mapping(self.applied, "spec"):
            self.generation += 1
        before, self.applied = self.template, body
        self.ready = min(self.ready, self.wanted)
        self.updated = min(self.updated, self.wanted) if before == self.template else 0

    def start(self, count: int) -> None:
        """Have so many more pods of the present template ready; old ones go as new ones come."""
        self.updated = min(self.updated + count, self.wanted)
        self.ready = max(self.updated, min(self.ready + count, self.wanted))

    def report(self) -> None:
        """Send what it holds, empty text for nothing."""
        if not self.applied:
            self.sent.append("")
            return
        own = {"uid": "1", "generation": self.generation}
        status = {
            "observedGeneration": self.generation,
            "replicas": self.wanted,
            "updatedReplicas": self.updated,
            "availableReplicas": self.ready,
        }
        body = {
            **self.applied,
            "metadata": {**mapping(self.applied, "metadata"), **own},
            "status": status,
        }
        self.sent.append(text(report_of(body)))


@dataclass
class Play:
    """A repository, its clusters, and what people do.

    `floor` is what must be ready at any time, unless it `failed`. Where people `scaled` down, the
    scheduler takes replicas whether they are ready or not: that is no move. With `cpu`, clusters
    have so much each, say what is used of it, and room is protected.
    """

    chance: Random
    told: Story
    members: Mapping[str, Member] = field(default_factory=lambda: {n: Member() for n in CLUSTERS})
    asked: int = 4
    floor: int = 0
    failed: int = 0
    scaled: bool = False
    steps: int = 0
    edition: int = 0
    cpu: int = 0
    memo: Memo = field(default_factory=Memo)
    before: World | None = None

    counts = (2, 6)

    @property
    def up(self) -> int:
        """The replicas that are ready anywhere."""
        return self.counted([member.ready for member in self.members.values()])

    def counted(self, ready: list[int]) -> int:
        """What counts, given the replicas that are ready on each cluster."""
        return sum(ready)

    def is_whole(self, placed: Mapping[str, int]) -> bool:
        """Whether as much is placed as is asked for, and not more where room is protected."""
        count = sum(placed.values())
        return 0 < count if self.cpu else self.asked == count

    def delivered(self, name: str) -> Body:
        """What a cluster is given."""
        return delivered(self.told, name)

    @property
    def target(self) -> Body:
        """What is rebalanced."""
        return target()

    def workload(self) -> Body:
        """The workload as people wrote it last."""
        return edited(deployment(replicas=self.asked, cpu="1"), self.edition)

    def write(self) -> None:
        """Ask for so many replicas as are asked for."""
        self.told.put(self.workload())

    def write_cluster(self, name: str) -> None:
        """Say what a cluster takes, and what is used of it."""
        member = self.members[name]
        free, used = cluster(name, status=STATUS), str(member.reported_used)
        found = room(name, str(self.cpu), used=used, pods=100) if self.cpu else free
        taints = {"taints": [taint()]} if member.full else {}
        self.told.put({**found, "spec": {**mapping(found, "spec"), **taints}})

    def use(self, name: str) -> None:
        """Have others come or go where there is room, or hear what is used."""
        if self.chance.random() < 0.3:
            free = self.cpu - self.members[name].wanted
            self.members[name].others = self.chance.randint(0, max(0, min(2, free)))
        else:
            self.report_usage(name)

    def report_usage(self, name: str) -> None:
        """Receive what is used of a cluster just now."""
        member = self.members[name]
        member.reported_others = member.others
        member.reported_used = member.others + member.wanted
        self.write_cluster(name)

    def calm(self) -> None:
        """Let all clusters apply and start everything, and report it."""
        for name, member in self.members.items():
            member.apply(self.delivered(name))
            member.start(member.wanted)
            member.sent.clear()
            member.report()
            self.hear(name)
            if self.cpu:
                self.report_usage(name)
        self.floor, self.failed = min(self.asked, self.up), 0

    def apply(self, member: Member, body: Body) -> None:
        """Have a cluster take what is delivered; another template may cost a replica meanwhile."""
        before = member.template
        member.apply(body)
        if before and before != member.template and member.ready and self.chance.random() < 0.3:
            self.fail(member)

    def hear(self, name: str) -> None:
        """Receive one of the reports under way, in whatever order."""
        sent, path = self.members[name].sent, f"feedback/{name}/web.yaml"
        if sent:
            found = sent.pop(self.chance.randrange(len(sent)))
            if found:
                self.told.files[path] = found
            else:
                self.told.files.pop(path, None)

    def decide(self) -> None:
        """Run a pass, of a process that may have started just now, and hold what it delivers."""
        self.told.now += timedelta(seconds=self.chance.randint(1, 40))
        if self.chance.random() < 0.2:
            self.memo, self.before = Memo(), None
        given = {name: replicas_of(self.delivered(name)) for name in self.members}
        self.before = linked(self.told.world(), self.before)
        outcome = reconcile(self.before, self.told.now, memo=self.memo)
        self.told.files = applied(self.told.files, outcome)
        self.steps += sum(one.begun or 0 for one in outcome.decisions)
        assert not outcome.traces
        if self.cpu:
            self.hold_room(given)

    def hold_room(self, given: Mapping[str, int]) -> None:
        """Hold that what a cluster is given anew fits beside what others were last said to have."""
        for name, member in self.members.items():
            ours = replicas_of(self.delivered(name))
            if ours > given[name]:
                assert max(ours, member.wanted) + member.reported_others <= self.cpu

    def look(self) -> None:
        """Run a pass, and hold what it placed."""
        self.decide()
        placed = self.told.placed()
        assert self.is_whole(placed)
        if self.scaled:
            stays = [min(one.ready, placed.get(name, 0)) for name, one in self.members.items()]
            self.floor, self.scaled = min(self.floor, self.failed + self.counted(stays)), False
        notes = mapping(mapping(self.told.binding(), "metadata"), "annotations")
        surge = decode_surge(str(notes.get(SURGE, "")))
        assert surge is None or self.told.now < surge.deadline

    def people(self) -> None:
        """Scale, edit, rebalance in either way, cancel, taint, or take a taint away."""
        name = self.chance.choice(sorted(self.members))
        match self.chance.randrange(9):
            case 0:
                before, self.asked = self.asked, self.chance.randint(*self.counts)
                self.scaled = self.scaled or self.asked < before
                self.write()
                self.floor = min(self.floor, self.asked)
            case 1:
                self.edition += 1
                self.told.put(self.workload())
            case 2:
                self.told.files.pop("workloadrebalancer/demo.yaml", None)
            case 3:
                self.told.files.pop("scheduletrigger/demo.yaml", None)
            case 4 | 5 as taints:
                self.members[name].full = taints == 4
                self.write_cluster(name)
            case 6:
                self.told.put(schedule_trigger("demo", self.target, limits=self.limits()))
            case _:
                self.told.put(self.rebalance(self.target))

    def fail(self, member: Member) -> None:
        """Lose a replica."""
        self.failed += 1
        member.ready -= 1

    def limits(self) -> Body:
        """Some pace."""
        steps = {
            "deadlineSeconds": self.chance.choice((60, 120)),
            "maxSurgePercent": self.chance.choice((1, 50, 100)),
            "settleSeconds": self.chance.choice((0, 0, 20)),
        }
        return {"makeBeforeBreak": steps}

    def rebalance(self, *targets: Body) -> Body:
        """A rebalance of some pace."""
        moves = {"maxMoves": 2} if self.chance.random() < 0.3 else {}
        return rebalancer("demo", *targets, limits={**self.limits(), **moves})

    def go_on(self) -> None:
        """Let one thing happen."""
        what = self.chance.choice(PROTECTED if self.cpu else HAPPENS)
        name = self.chance.choice(sorted(self.members))
        member = self.members[name]
        if self.chance.random() < 0.02 and member.ready:
            self.fail(member)
        elif what == "apply":
            self.apply(member, self.delivered(name))
        elif what == "start":
            member.start(self.chance.randint(1, 4))
        elif what == "report":
            member.report()
        elif what == "hear":
            self.hear(name)
        elif what == "look":
            self.look()
        elif what == "usage":
            self.use(name)
        elif self.chance.random() < 0.3:
            self.people()
        if self.chance.random() < 0.02:
            self.calm()


def edited(workload: Body, edition: int) -> Body:
    """A workload whose pods are of some edition."""
    spec = mapping(workload, "spec")
    pods = {**mapping(spec, "template"), "metadata": {"labels": {"edition": str(edition)}}}
    return {**workload, "spec": {**spec, "template": pods}}


def replicas_of(delivered: Body) -> int:
    """How many replicas a cluster is given."""
    return cast(int, mapping(delivered, "spec").get("replicas", 0))


DIVIDED = groups(["a"], list(CLUSTERS), replicaScheduling=DYNAMIC)


def opened(
    chance: Random, kind: type[Play] = Play, placement: Body = DIVIDED, cpu: int = 0
) -> Play:
    """Web runs on b and c, since a was tainted; now a is clean again, and web is to go there."""
    told = story(policy(placement=placement))
    told.put(configuration(**OPTIONS, **({"capacity": {"protect": True}} if cpu else {})))
    return away("a", kind(chance, told, {name: Member() for name in CLUSTERS}, cpu=cpu))


def away(where: str, play: Play) -> Play:
    """What is to be moved runs elsewhere, since these were full; now they are not."""
    play.write()
    play.told.put(play.workload())
    for name, member in play.members.items():
        member.full = name in where
        play.write_cluster(name)
    play.told.run(0)
    play.calm()
    for name in where:
        play.members[name].full = False
        play.write_cluster(name)
    play.told.put(play.rebalance(play.target))
    return play


@dataclass
class WholePlay(Play):
    """The same of a workload that each of its clusters has all of: the best copy counts."""

    def counted(self, ready: list[int]) -> int:
        """What counts, given the replicas that are ready on each cluster."""
        return max(ready)

    def is_whole(self, placed: Mapping[str, int]) -> bool:
        """Whether as much is placed as is asked for."""
        return len(set(placed.values())) == 1 and (self.cpu > 0 or self.asked in placed.values())


@dataclass
class FleetPlay(Play):
    """The same of a placement of KubeFleet: a cluster is up where all that it was given is."""

    counts = (1, 3)

    @property
    def up(self) -> int:
        """The clusters that are available."""
        return sum(0 < one.wanted == one.ready for one in self.members.values())

    @property
    def surge(self) -> Surge | None:
        """What runs beside what is to be left."""
        return surge_in(self.told.output(f"{fleet.PLACEMENTS}/web.yaml"))

    def states(self) -> dict[str, bool]:
        """Each cluster that has something, and whether it is chosen."""
        return {name: state != "Unscheduled" for name, state in fleet.states(self.told).items()}

    def workload(self) -> Body:
        """The workload as people wrote it last."""
        return edited(deployment(replicas=2, cpu="1"), self.edition)

    def write(self) -> None:
        """Ask for so many clusters as are asked for."""
        self.told.put(placed_by_number(self.asked))

    def write_cluster(self, name: str) -> None:
        """Say what a cluster takes, and what is used of it."""
        member = self.members[name]
        free, whole = str(self.cpu - member.reported_used), str(self.cpu)
        found = fleet_room(name, free, whole=whole) if self.cpu else fleet.member(name)
        taints = {"taints": list(FULL)} if member.full else {}
        self.told.put({**found, "spec": {**mapping(found, "spec"), **taints}})

    @property
    def target(self) -> Body:
        """What is rebalanced."""
        return fleet_test.WEB

    def calm(self) -> None:
        """Let everything be as it should; where a step is under way, what counts was before it."""
        before = self.floor
        super().calm()
        self.floor = self.floor if self.surge is None else min(self.floor, before)

    def look(self) -> None:
        """Run a pass, and hold what it placed."""
        self.decide()
        states = self.states()
        assert sum(states.values()) <= self.asked
        if self.scaled:
            there = (one for name, one in self.members.items() if name in states)
            stays = sum(0 < one.wanted == one.ready for one in there)
            self.floor, self.scaled = min(self.floor, self.failed + stays), False
        assert self.surge is None or self.told.now < self.surge.deadline

    def people(self) -> None:
        """Do the same, or write what is refused until somebody asks for another number."""
        if self.chance.random() < 0.1:
            body = placed_by_number(self.asked)
            spec = {**mapping(body, "spec"), "resourceSelectors": fleet_test.TWICE}
            self.told.put({**body, "spec": spec})
        else:
            super().people()

    def fail(self, member: Member) -> None:
        """Lose a replica; what was available is not any more."""
        self.failed += member.ready == member.wanted
        member.ready -= 1


@dataclass
class HubPlay(FleetPlay):
    """The same of a placement of a hub, whose set brings what is placed."""

    people = Play.people

    @property
    def surge(self) -> Surge | None:
        """What runs beside what is to be left."""
        return surge_in(self.told.output(hub_test.STATUS))

    def delivered(self, name: str) -> Body:
        """What a cluster is given."""
        return hub_test.delivered(self.told, name)

    def states(self) -> dict[str, bool]:
        """Each cluster that has something, and whether it is chosen."""
        return {name: not why for name, why in hub_test.decided(self.told).items()}

    def write(self) -> None:
        """Ask for so many clusters as are asked for."""
        self.told.put(hub.placement(numberOfClusters=self.asked))

    def workload(self) -> Body:
        """The set as people wrote it last."""
        return hub.replica_set(edited(hub_test.WEB, self.edition))

    def write_cluster(self, name: str) -> None:
        """Say what a cluster takes."""
        spared = {"key": "full", "value": "", "effect": "NoSelectIfNew"}
        self.told.put(hub.cluster(name, *((spared,) if self.members[name].full else ())))

    @property
    def target(self) -> Body:
        """What is rebalanced."""
        return hub_test.P


FLEET_CLUSTERS = ("a", "b", "c", "d")
FULL = fleet_test.FULL


def opened_whole(chance: Random, cpu: int = 0) -> Play:
    """A copy of web runs on b, since a was tainted; now a is clean again, and it is to go there."""
    return opened(chance, WholePlay, groups(["a"], ["b"]), cpu)


def placed_by_number(number: int) -> Body:
    """The placement, which may take away and add as many as it likes."""
    return fleet_test.web(fleet.pick(number))


def opened_fleet(chance: Random, cpu: int = 0) -> Play:
    """Web is on a and b, since c and d were full; now they are not, and it is to go there."""
    told = story(configuration(**OPTIONS, **({"capacity": {"protect": True}} if cpu else {})))
    members = {name: Member() for name in FLEET_CLUSTERS}
    return away("cd", FleetPlay(chance, told, members, asked=2, cpu=cpu))


def opened_hub(chance: Random) -> Play:
    """P is on c and d, since a and b were full; now they are not, and it is to go there."""
    told = story(hub.cluster_set(), hub.binding(), configuration(**OPTIONS))
    members = {name: Member() for name in FLEET_CLUSTERS}
    return away("ab", HubPlay(chance, told, members, asked=2))


def in_room(begin: Callable[..., Play], cpu: int) -> "Opened":
    """The same where clusters have so much cpu each, and room is protected."""
    return lambda chance: begin(chance, cpu=cpu)


Opened = Callable[[Random], Play]
PLAYS: Mapping[str, Opened] = {
    "divided": opened,
    "whole": opened_whole,
    "kubefleet": opened_fleet,
    "hub": opened_hub,
    "divided-in-room": in_room(opened, 5),
    "whole-in-room": in_room(opened_whole, 6),
    "kubefleet-in-room": in_room(opened_fleet, 3),
}
APIS = pytest.mark.parametrize("begin", PLAYS.values(), ids=PLAYS.keys())


@APIS
@settings(LAW, max_examples=examples(30))
@given(chance=st.randoms(use_true_random=False))
def test_no_move_takes_a_service_down(begin: Opened, chance: Random) -> None:
    """However late clusters apply, start and report, and whatever people do beside.

    And wherever room is protected, nothing is brought where it is not.
    """
    play = begin(chance)
    for _ in range(80):
        play.go_on()

        assert play.up >= play.floor - play.failed


@APIS
def test_most_of_what_is_played_moves(begin: Opened) -> None:
    """Else the law would hold of nothing."""
    begun = 0
    for seed in range(5):
        play = begin(Random(seed))  # noqa: S311  # a fixed sample
        for _ in range(100):
            play.go_on()
        begun += play.steps

    assert begun > 5


@APIS
def test_steps_keep_the_laws_of_a_pass(begin: Opened) -> None:
    """A warm pass equals a cold one, the next at the same moment changes nothing, nor any before.

    That is, before the moment at which it says that time alone may.
    """
    for seed in range(3):
        play, memo, before = begin(Random(seed)), Memo(), None  # noqa: S311  # a fixed sample
        for _ in range(60):
            play.go_on()
            world, now = play.told.world(), play.told.now + timedelta(seconds=1)
            before = linked(world, before)
            cold, warm = reconcile(world, now), reconcile(before, now, memo=memo)
            assert (cold.changes, cold.recheck_at) == (warm.changes, warm.recheck_at)
            after = next_world(world, cold)
            assert () == reconcile(after, now).changes
            if cold.recheck_at is not None and cold.recheck_at > now + timedelta(seconds=1):
                assert () == reconcile(after, cold.recheck_at - timedelta(seconds=1)).changes
