"""Room of clusters whose reports never change, as where capacity is a number that people write."""

from datetime import timedelta

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.body import Body
from tests.bounded import examples
from tests.builders import DYNAMIC, configuration, deployment, policy, selector
from tests.core.test_laws import LAW
from tests.core.test_never_over_committed import Counts, decided, wanted_by
from tests.dialects.karmada.test_protected_room import DUPLICATED, room, statically
from tests.dialects.kubefleet.test_protected_room import room as member
from tests.dialects.kubefleet.test_protected_room import selecting
from tests.stories import Story, applied, story

pytestmark = pytest.mark.cpu_seconds(60)  # chains of passes

STRATEGIES = {"duplicated": DUPLICATED, "static": statically(a=1), "dynamic": DYNAMIC}
GAPS = (20, 601, 86_400)
NUMBERS = st.integers(0, 4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("karmada"), st.sampled_from(sorted(STRATEGIES)), NUMBERS),
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
            for kind, how in STRATEGIES.items()
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


@settings(LAW, max_examples=examples(40))
@given(
    st.integers(0, 16),
    st.sampled_from(("", "late")),
    STEPS,
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
