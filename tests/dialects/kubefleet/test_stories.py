"""KubeFleet in the pass, from manifests to manifests."""

from tests.builders import after, configmap, deployment
from tests.dialects.kubefleet.fleet import (
    bindings,
    condition,
    files,
    fixed,
    member,
    pick,
    placement,
    specs_of,
    states,
    targets,
)
from tests.stories import Story, story

ALL_AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
ONE_AFTER_ANOTHER = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}


def test_first_pick_all_binds_every_cluster() -> None:
    """Without a policy every cluster is picked, and the rollout binds as many as may surge."""
    repository = story(member("a"), member("b"), placement(), deployment())
    outcome = repository.run()

    assert () == outcome.faults
    assert {"a", "b"} == set(states(repository))
    assert (("a", 0), ("b", 0)) == outcome.decisions[0].after
    assert "True" == condition(repository, "Scheduled")["status"]
    assert 1 == len(files(repository, "clusterschedulingpolicysnapshots"))
    assert 1 == len(files(repository, "clusterresourcesnapshots"))


def test_nothing_to_do_makes_no_change() -> None:
    """A settled repository stays as it is, at once and later."""
    repository = story(member("a"), member("b"), placement(pick(1)), deployment())
    for seconds in (1, 61, 122, 200):
        repository.run(seconds)

    assert () == repository.run(201).changes
    assert () == repository.run(100_000).changes
    assert {"b": "Bound"} == states(repository)


def test_assumed_availability_lets_the_rollout_go_on() -> None:
    """A silent cluster counts as available a minute after its rollout, and recheck_at says so."""
    repository = story(member("a"), member("b"), placement(strategy=ONE_AFTER_ANOTHER))
    repository.put(deployment()).run(0)
    repository.put(deployment(labels={"tier": "new"}))

    assert after(60) == repository.run(10).recheck_at
    assert after(120) == repository.run(60).recheck_at
    assert repository.run(120).recheck_at is None
    assert () == repository.run(9_000).changes


def test_scaling_out_moves_nothing() -> None:
    """A greater number updates the present snapshot, and what is placed stays."""
    clusters = [member(name) for name in "abcd"]
    repository = story(*clusters, placement(pick(2), strategy=ALL_AT_ONCE), deployment())
    repository.run(0)
    assert {"c", "d"} == set(states(repository))

    repository.put(member("z"), placement(pick(3), strategy=ALL_AT_ONCE))
    repository.run(100)

    assert {"c", "d", "z"} == set(states(repository))
    assert 1 == len(files(repository, "clusterschedulingpolicysnapshots"))


def test_asking_for_no_more_than_there_is_fulfils() -> None:
    """An unfulfilled placement that is scaled in to what it has says so."""
    repository = story(member("a"), placement(pick(3), strategy=ALL_AT_ONCE), deployment())
    outcome = repository.run(0)
    assert "found 1 cluster(s) instead" in outcome.decisions[0].problem

    repository.put(placement(pick(1), strategy=ALL_AT_ONCE))
    assert () == repository.run(10).decisions
    assert "True" == condition(repository, "Scheduled")["status"]


def test_snapshot_holds_identity_blob_and_hash_but_no_content() -> None:
    """What a resource says stays in its own file."""
    repository = story(member("a"), placement(), deployment())
    repository.run(0)
    spec = files(repository, "clusterresourcesnapshots")[0]["spec"]

    assert [{"apiVersion", "kind", "metadata", "hash", "blob", "document"}] == [
        set(entry)
        for entry in spec["selectedResources"]  # type: ignore[index]  # a mapping
    ]


def test_scaling_in_lets_the_lesser_name_go() -> None:
    """Of equal scores the alphabetically smaller cluster goes first."""
    repository = story(*(member(name) for name in "abc"))
    repository.put(placement(pick(3), strategy=ALL_AT_ONCE), deployment())
    repository.run(0)
    repository.run(100)
    repository.put(placement(pick(1), strategy=ALL_AT_ONCE))
    repository.run(200)

    assert {"c": "Bound"} == states(repository)


def test_pick_fixed_takes_the_clusters_it_names() -> None:
    """A name of no cluster leaves the placement unfulfilled, until the cluster comes."""
    repository = story(member("a"), placement(fixed("a", "b"), strategy=ALL_AT_ONCE))
    outcome = repository.run(0)

    assert {"a"} == set(states(repository))
    assert "False" == condition(repository, "Scheduled")["status"]
    assert {"b": 'Specified cluster "b" is not found'} == outcome.decisions[0].rejected
    repository.put(member("b"))
    repository.run(10)
    assert {"a": "Bound", "b": "Bound"} == states(repository)


def test_newly_eligible_cluster_is_taken_by_pick_all_only() -> None:
    """An unjoined cluster is not picked; once it has joined, PickAll takes it."""
    repository = story(member("a"), member("b", status={"agentStatus": []}), placement())
    repository.put(placement(pick(1), name="one"))
    repository.run(0)
    assert ["a", "a"] == targets(repository)

    repository.put(member("b"))
    repository.run(10)
    assert ["a", "a", "b"] == targets(repository)


def test_leaving_cluster_is_replaced() -> None:
    """A cluster that is being deleted loses its binding, and PickN takes another."""
    repository = story(*(member(name) for name in "abc"))
    repository.put(placement(pick(1), strategy=ALL_AT_ONCE), deployment())
    repository.run(0)
    repository.run(100)
    assert {"c": "Bound"} == states(repository)

    repository.put(member("c", leaving=True))
    repository.run(200)
    assert "Bound" == states(repository)["b"]
    assert "Bound" != states(repository).get("c")


def test_changed_resources_move_nothing() -> None:
    """A change of the selected resources makes a resource snapshot and no decision."""
    repository = story(member("a"), member("b"), placement(pick(1), strategy=ALL_AT_ONCE))
    repository.put(deployment())
    repository.run(0)
    repository.run(100)
    before = set(states(repository))
    repository.put(configmap(), member("z"))
    outcome = repository.run(200)

    assert () == outcome.decisions
    assert before == set(states(repository))
    assert 2 == len(files(repository, "clusterresourcesnapshots"))
    assert 1 == len(files(repository, "clusterschedulingpolicysnapshots"))


def test_removed_placement_takes_its_outputs_along() -> None:
    """Without its manifest nothing of a placement stays."""
    repository = story(member("a"), placement(), deployment())
    repository.run(0)
    repository.drop(placement())
    outcome = repository.run(10)

    assert [] == bindings(repository)
    assert outcome.decisions[0].removed


def test_cluster_name_with_a_dot_is_a_fault_of_its_placement_only() -> None:
    """A binding's name is a DNS label; other placements go on."""
    repository = story(member("a.b"), placement(), placement(pick(0), name="none"))
    outcome = repository.run(0)

    assert ["kubefleet-unexpected"] == [fault.rule for fault in outcome.faults]
    assert [] == bindings(repository)


def test_rollout_reaches_clusters_a_few_at_a_time() -> None:
    """With maxUnavailable 1 an update waits for the clusters before it."""
    strategy = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 3}}
    repository = story(*(member(name) for name in "abc"), placement(strategy=strategy))
    repository.put(deployment())
    for seconds in (0, 100):
        repository.run(seconds)
    repository.put(deployment(replicas=3))
    repository.run(200)
    assert [1, 0, 0] == _updated(repository)
    repository.run(260)
    assert [1, 1, 0] == _updated(repository)
    repository.run(320)
    assert [1, 1, 1] == _updated(repository)


def _updated(repository: Story) -> list[int]:
    specs = sorted(specs_of(repository), key=lambda spec: spec["targetCluster"])
    return [int(spec["resourceSnapshotName"] == "web-1-snapshot") for spec in specs]
