"""What is assumed of silent clusters: never written, told to whoever reads it, counted with."""

from collections.abc import Mapping
from datetime import datetime

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from tests.builders import Body, after, configuration, deployment, text, text_of
from tests.dialects.kubefleet.fleet import GROUP, member, path_of_binding, pick, placement
from tests.older_outputs import older_outputs
from tests.stories import Story, story

DIFF = {"applyStrategy": {"type": "ReportDiff"}}
ONE_BY_ONE = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
ALL_AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
PLACEMENT = ObjectKey(GROUP, "ClusterResourcePlacement", "", "web")


def web(strategy: Body = ALL_AT_ONCE, *, seconds: int | None = 60) -> Story:
    """A Deployment that wants two of three clusters, placed now."""
    told = story(*map(member, "abc"), placement(pick(2), strategy=strategy), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": seconds}))
    told.run(0)
    return told


def shown(told: Story, at: datetime) -> Mapping[ObjectKey, Body]:
    """All outputs of the API as they are at a moment."""
    found = as_of(told.world(), at).outputs.items()
    return {key: one.body for key, one in found if key.group == GROUP}


def written(told: Story) -> Mapping[ObjectKey, Body]:
    """The same as they stand in their files."""
    found = told.world().outputs.items()
    return {key: one.body for key, one in found if key.group == GROUP}


def unlisted(outputs: Mapping[ObjectKey, Body]) -> dict[ObjectKey, Body]:
    """Outputs without the list of what a placement selects, which older releases did not write."""
    found: dict[ObjectKey, Body] = {}
    for key, body in outputs.items():
        status = {k: v for k, v in mapping(body, "status").items() if k != "selectedResources"}
        found[key] = {**body, "status": status}
    return found


def test_it_is_shown_as_older_releases_wrote_it() -> None:
    """Bindings and placement, to the letter, whoever looks when."""
    told, old = web(), web()
    old.files |= older_outputs("kubefleet")

    assert written(told) == shown(told, after(59))
    for at in (after(60), after(9_000)):
        assert unlisted(written(old)) == unlisted(shown(told, at))


def test_of_a_report_of_differences_it_is_assumed_that_there_is_one() -> None:
    """Nothing is applied there, so nothing becomes available."""
    found = str(shown(web(ALL_AT_ONCE | DIFF), after(60))[PLACEMENT])

    assert "DiffReportedAssumed" in found
    assert "AppliedAssumed" not in found


def test_nothing_is_written_for_it_and_no_pass_waits_for_it() -> None:
    """The rollout is done."""
    told = web()
    before = dict(told.files)

    assert told.run(1).recheck_at is None
    assert () == told.run(90_000).changes
    assert before == told.files
    assert "Assumed" not in str(written(told))


def test_nothing_is_assumed_where_that_is_switched_off() -> None:
    """At no moment."""
    told = web(seconds=None)

    assert written(told) == shown(told, after(90_000))


def test_a_rollout_that_waits_goes_on_at_the_assumed_moment() -> None:
    """To the second; what it counted with is in no file."""
    told = web(ONE_BY_ONE)
    told.put(deployment(labels={"tier": "new"}))
    for seconds, reached, next_seconds in (
        (10, "", 60),
        (59, "", 60),
        (60, "b", 120),
        (119, "b", 120),
        (120, "bc", None),
        (180, "bc", None),
    ):
        outcome = told.run(seconds)
        new = [n for n in "bc" if "Name: web-1-" in told.files[path_of_binding(told, n)]]

        assert [*reached] == new
        assert "Assumed" not in str(written(told))
        assert (None if next_seconds is None else after(next_seconds)) == outcome.recheck_at


def test_a_cluster_that_reports_is_not_assumed_about() -> None:
    """Of two the silent one is, and the placement is as far as the other one."""
    told = web()
    status = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}
    told.files["feedback/c/web.yaml"] = text({**deployment(), "status": status})
    told.run(30)
    bodies = {key.name.split("-")[1]: str(body) for key, body in shown(told, after(60)).items()
              if key.kind == "ClusterResourceBinding"}  # fmt: skip

    assert {"b": True, "c": False} == {name: "Assumed" in body for name, body in bodies.items()}
    assert "ResourceNotAvailableYet" in str(shown(told, after(60))[PLACEMENT])


def test_what_an_older_release_wrote_of_it_stays_while_it_holds() -> None:
    """So an upgrade rewrites nothing, until something else is known."""
    told = web()
    told.files |= older_outputs("kubefleet")
    before = dict(told.files)

    assert () == told.run(61).changes
    assert () == told.run(90_000).changes
    assert before == told.files
    assert written(told) == shown(told, told.now)

    told.put(configuration(feedback={"assumeAfterSeconds": None})).run()
    assert "Assumed" not in str(written(told))


def test_an_assumption_that_a_person_writes_early_does_not_stand() -> None:
    """It is taken back, as every other edit of the status."""
    told = web()
    path = path_of_binding(told, "b")
    told.files[path] = older_outputs("kubefleet")[path]

    outcome = told.run(59)
    assert [path] == [one.path for one in outcome.changes if "bindings" in one.path]
    assert "Assumed" not in told.files[path]
    assert text_of(after(0)) in told.files[path]
