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
    taint,
    text,
)
from tests.core.test_laws import LAW
from tests.core.test_make_before_break import OPTIONS, delivered
from tests.dialects.kubefleet import fleet
from tests.dialects.kubefleet import test_make_before_break as fleet_test
from tests.dialects.ocm import test_make_before_break as hub_test
from tests.dialects.ocm import worlds as hub
from tests.stories import Story, applied, linked, story

pytestmark = pytest.mark.cpu_seconds(120)  # many examples of whole passes

CLUSTERS = ("a", "b", "c")
HAPPENS = ("apply", "apply", "start", "report", "hear", "hear", "look", "look", "people")
STATUS = cluster_status(pods=100)


@dataclass
class Member:
    """A cluster: what it applied last, how many replicas are ready, which reports are under way."""

    applied: Body = field(default_factory=dict)
    ready: int = 0
    generation: int = 0
    sent: list[str] = field(default_factory=list)

    @property
    def wanted(self) -> int:
        """How many replicas it runs."""
        return cast(int, mapping(self.applied, "spec").get("replicas", 0))

    def apply(self, body: Body) -> None:
        """Take what is delivered; what is not ready stops first."""
        if mapping(body, "spec") != mapping(self.applied, "spec"):
            self.generation += 1
        self.applied = body
        self.ready = min(self.ready, self.wanted)

    def report(self) -> None:
        """Send what it holds, empty text for nothing."""
        if not self.applied:
            self.sent.append("")
            return
        own = {"uid": "1", "generation": self.generation}
        status = {
            "observedGeneration": self.generation,
            "replicas": self.wanted,
            "updatedReplicas": self.wanted,
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
    scheduler takes replicas whether they are ready or not: that is no move.
    """

    chance: Random
    told: Story
    members: Mapping[str, Member] = field(default_factory=lambda: {n: Member() for n in CLUSTERS})
    asked: int = 4
    floor: int = 0
    failed: int = 0
    scaled: bool = False
    steps: int = 0

    @property
    def up(self) -> int:
        """The replicas that are ready anywhere."""
        return self.counted([member.ready for member in self.members.values()])

    def counted(self, ready: list[int]) -> int:
        """What counts, given the replicas that are ready on each cluster."""
        return sum(ready)

    def is_whole(self, placed: Mapping[str, int]) -> bool:
        """Whether as much is placed as is asked for."""
        return self.asked == sum(placed.values())

    def delivered(self, name: str) -> Body:
        """What a cluster is given."""
        return delivered(self.told, name)

    def calm(self) -> None:
        """Let all clusters apply and start everything, and report it."""
        for name, member in self.members.items():
            member.apply(self.delivered(name))
            member.ready = member.wanted
            member.sent.clear()
            member.report()
            self.hear(name)
        self.floor, self.failed = min(self.asked, self.up), 0

    def hear(self, name: str) -> None:
        """Receive one of the reports under way, in whatever order."""
        sent, path = self.members[name].sent, f"feedback/{name}/web.yaml"
        if sent:
            found = sent.pop(self.chance.randrange(len(sent)))
            if found:
                self.told.files[path] = found
            else:
                self.told.files.pop(path, None)

    def look(self) -> None:
        """Run a pass, and hold what it placed."""
        self.told.now += timedelta(seconds=self.chance.randint(1, 40))
        outcome = reconcile(self.told.world(), self.told.now)
        self.told.files = applied(self.told.files, outcome)
        self.steps += sum(one.begun or 0 for one in outcome.decisions)
        assert not outcome.traces
        placed = self.told.placed()
        assert self.is_whole(placed)
        if self.scaled:
            stays = [min(one.ready, placed.get(name, 0)) for name, one in self.members.items()]
            self.floor, self.scaled = min(self.floor, self.failed + self.counted(stays)), False
        notes = mapping(mapping(self.told.binding(), "metadata"), "annotations")
        surge = decode_surge(str(notes.get(SURGE, "")))
        assert surge is None or self.told.now < surge.deadline

    def people(self) -> None:
        """Scale, rebalance, cancel, taint, or take a taint away."""
        match self.chance.randrange(6):
            case 0:
                before, self.asked = self.asked, self.chance.randint(2, 6)
                self.scaled = self.scaled or self.asked < before
                self.told.put(deployment(replicas=self.asked, cpu="1"))
                self.floor = min(self.floor, self.asked)
            case 1:
                self.told.files.pop("workloadrebalancer/demo.yaml", None)
            case 2:
                name = self.chance.choice(CLUSTERS)
                self.told.put(cluster(name, status=STATUS, taints=[taint()]))
            case 3:
                name = self.chance.choice(CLUSTERS)
                self.told.put(cluster(name, status=STATUS))
            case _:
                self.told.put(self.rebalance())

    def fail(self, member: Member) -> None:
        """Lose a replica."""
        self.failed += 1
        member.ready -= 1

    def rebalance(self, *targets: Body) -> Body:
        """A rebalance of some pace."""
        steps = {
            "deadlineSeconds": self.chance.choice((60, 120)),
            "maxSurgePercent": self.chance.choice((1, 50, 100)),
            "settleSeconds": self.chance.choice((0, 0, 20)),
        }
        moves = {"maxMoves": 2} if self.chance.random() < 0.3 else {}
        return rebalancer("demo", *targets, limits={"makeBeforeBreak": steps, **moves})

    def go_on(self) -> None:
        """Let one thing happen."""
        what, name = self.chance.choice(HAPPENS), self.chance.choice(sorted(self.members))
        member = self.members[name]
        if self.chance.random() < 0.02 and member.ready:
            self.fail(member)
        elif what == "apply":
            member.apply(self.delivered(name))
        elif what == "start":
            member.ready = min(member.ready + self.chance.randint(1, 4), member.wanted)
        elif what == "report":
            member.report()
        elif what == "hear":
            self.hear(name)
        elif what == "look":
            self.look()
        elif self.chance.random() < 0.3:
            self.people()
        if self.chance.random() < 0.02:
            self.calm()


DIVIDED = groups(["a"], list(CLUSTERS), replicaScheduling=DYNAMIC)


def opened(chance: Random, kind: type[Play] = Play, placement: Body = DIVIDED) -> Play:
    """Web runs on b and c, since a was tainted; now a is clean again, and web is to go there."""
    told = story(cluster("a", status=STATUS, taints=[taint()]))
    told.put(*(cluster(name, status=STATUS) for name in "bc"), deployment(replicas=4, cpu="1"))
    told.put(policy(placement=placement), configuration(**OPTIONS))
    told.run(0)
    play = kind(chance, told)
    play.calm()
    told.put(cluster("a", status=STATUS), play.rebalance())
    return play


@dataclass
class WholePlay(Play):
    """The same of a workload that each of its clusters has all of: the best copy counts."""

    def counted(self, ready: list[int]) -> int:
        """What counts, given the replicas that are ready on each cluster."""
        return max(ready)

    def is_whole(self, placed: Mapping[str, int]) -> bool:
        """Whether as much is placed as is asked for."""
        return {self.asked} == set(placed.values())


@dataclass
class FleetPlay(Play):
    """The same of a placement of KubeFleet: a cluster is up where all that it was given is."""

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

    def write(self) -> None:
        """Ask for so many clusters as are asked for."""
        self.told.put(placed_by_number(self.asked))

    def member(self, name: str, *, full: bool) -> None:
        """Have a cluster take nothing new, or take it again."""
        self.told.put(fleet.member(name, taints=FULL if full else ()))

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
        self.told.now += timedelta(seconds=self.chance.randint(1, 40))
        outcome = reconcile(self.told.world(), self.told.now)
        self.told.files = applied(self.told.files, outcome)
        self.steps += sum(one.begun or 0 for one in outcome.decisions)
        assert not outcome.traces
        states = self.states()
        assert sum(states.values()) <= self.asked
        if self.scaled:
            there = (one for name, one in self.members.items() if name in states)
            stays = sum(0 < one.wanted == one.ready for one in there)
            self.floor, self.scaled = min(self.floor, self.failed + stays), False
        assert self.surge is None or self.told.now < self.surge.deadline

    def people(self) -> None:
        """Scale, rebalance, cancel, taint, or take a taint away."""
        match self.chance.randrange(6):
            case 0:
                before, self.asked = self.asked, self.chance.randint(1, 3)
                self.scaled = self.scaled or self.asked < before
                self.write()
                self.floor = min(self.floor, self.asked)
            case 1:
                self.told.files.pop("workloadrebalancer/demo.yaml", None)
            case 2:
                self.member(self.chance.choice(FLEET_CLUSTERS), full=True)
            case 3:
                self.member(self.chance.choice(FLEET_CLUSTERS), full=False)
            case _:
                self.told.put(self.rebalance(self.target))

    def fail(self, member: Member) -> None:
        """Lose a replica; what was available is not any more."""
        self.failed += member.ready == member.wanted
        member.ready -= 1


@dataclass
class HubPlay(FleetPlay):
    """The same of a placement of a hub, whose set brings what is placed."""

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

    def member(self, name: str, *, full: bool) -> None:
        """Have a cluster take nothing new, or take it again."""
        spared = {"key": "full", "value": "", "effect": "NoSelectIfNew"}
        self.told.put(hub.cluster(name, *((spared,) if full else ())))

    @property
    def target(self) -> Body:
        """What is rebalanced."""
        return hub_test.P


FLEET_CLUSTERS = ("a", "b", "c", "d")
FULL = fleet_test.FULL


def opened_whole(chance: Random) -> Play:
    """A copy of web runs on b, since a was tainted; now a is clean again, and it is to go there."""
    return opened(chance, WholePlay, groups(["a"], ["b"]))


def placed_by_number(number: int) -> Body:
    """The placement, which may take away and add as many as it likes."""
    return fleet_test.web(fleet.pick(number))


def opened_fleet(chance: Random) -> FleetPlay:
    """Web is on a and b, since c and d were full; now they are not, and it is to go there."""
    told = story(*map(fleet.member, "ab"), *(fleet.member(n, taints=FULL) for n in "cd"))
    told.put(placed_by_number(2), deployment(replicas=2), configuration(**OPTIONS))
    told.run(0)
    play = FleetPlay(chance, told, {name: Member() for name in FLEET_CLUSTERS}, asked=2)
    play.calm()
    told.put(*map(fleet.member, "cd"), play.rebalance(fleet_test.WEB))
    return play


def opened_hub(chance: Random) -> HubPlay:
    """P is on c and d, since a and b were full; now they are not, and it is to go there."""
    told = hub_test.away(2, "abcd")
    play = HubPlay(chance, told, {name: Member() for name in FLEET_CLUSTERS}, asked=2)
    play.calm()
    told.put(play.rebalance(hub_test.P))
    return play


Opened = Callable[[Random], Play]
IDS = ["divided", "whole", "kubefleet", "hub"]
APIS = pytest.mark.parametrize("begin", [opened, opened_whole, opened_fleet, opened_hub], ids=IDS)


@APIS
@settings(LAW, max_examples=examples(30))
@given(chance=st.randoms(use_true_random=False))
def test_no_move_takes_a_service_down(begin: Opened, chance: Random) -> None:
    """However late clusters apply, start and report, and whatever people do beside."""
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
