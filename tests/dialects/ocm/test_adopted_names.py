"""A work of a set that came from a hub keeps its name as long as its cluster has one."""

from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    WorkRecord,
    decode_record,
    work_name,
)
from reconciler.model.identity import ClusterName
from tests.dialects.ocm.sets import SHOP, STATUS, fleet, replica_set, settings_map, templates
from tests.dialects.ocm.worlds import cluster
from tests.stories import Story

LIVE = "shop7x2kq"
A = ClusterName("a")


def adopted() -> Story:
    """A set on one cluster, where its work has the name that a hub gave."""
    told = fleet("a").put(replica_set())
    told.run(0)
    record = f"work.reconciler.dev/a: p {templates(told)['a']}"
    before, _, after = told.files[STATUS].partition(record)
    moment, line, rest = after.partition("\n")
    told.files[STATUS] = f"{before}{record}{moment} named={LIVE}{line}{rest}"
    return told


def work(told: Story) -> WorkRecord:
    """The one work of the set."""
    (one,) = decode_record(told.output(STATUS)).works
    return one


def test_a_pass_leaves_it_as_it_is() -> None:
    """Nothing else of the record is read otherwise."""
    told = adopted()

    assert ((), LIVE) == (told.run().changes, work(told).name(SHOP))
    assert "" == work(told).seen


def test_it_stays_with_a_new_template() -> None:
    """What is there is written over."""
    told = adopted()
    before = work(told).template
    told.put(replica_set(settings_map("2"))).run()

    assert (LIVE, True) == (work(told).name(SHOP), before != work(told).template)


def test_it_ends_with_the_work() -> None:
    """One that is made later has the name that we give."""
    told = adopted()
    told.drop(cluster("a")).run()
    told.put(cluster("a")).run()

    assert work_name(SHOP, "p", A) == work(told).name(SHOP)
