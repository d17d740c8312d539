"""Clusters report the resources of a placement."""

from reconciler.model.fields import without
from tests.builders import Body, configmap, deployment, live, metadata, text
from tests.dialects.kubefleet.fleet import GROUP, condition, member, placement
from tests.stories import Story, story


def report(available: int) -> Body:
    """What a cluster says of web."""
    return live(deployment(), updatedReplicas=2, availableReplicas=available)


def placed() -> Story:
    """A Deployment on one cluster."""
    told = story(member("a"), placement(), deployment())
    told.run(0)
    return told


def test_a_healthy_report_is_available_at_once() -> None:
    """Nothing is assumed of a cluster that reports."""
    told = placed()
    told.files["feedback/a/web.yaml"] = text(report(2))
    outcome = told.run(1)

    assert "True" == condition(told, "Available")["status"]
    assert outcome.recheck_at is None


def test_an_unhealthy_report_is_not_assumed_away() -> None:
    """However long it takes; health ends it."""
    told = placed()
    told.files["feedback/a/web.yaml"] = text(report(1))
    told.run(1)
    told.run(1000)

    assert "True" == condition(told, "Applied")["status"]
    assert "False" == condition(told, "Available")["status"]

    told.files["feedback/a/web.yaml"] = text(report(2))
    told.run(1001)

    assert "True" == condition(told, "Available")["status"]


def test_a_report_of_something_else_is_none() -> None:
    """Then the silence is judged as ever."""
    told = placed()
    told.files["feedback/a/api.yaml"] = text({**report(0), "metadata": metadata("api", "default")})
    told.run(60)

    assert "True" == condition(told, "Available")["status"]


def test_a_report_that_lacks_what_says_it_is_not_available() -> None:
    """How many replicas are wanted is not known, so that all of them run is not, either."""
    told = placed()
    told.files["feedback/a/web.yaml"] = text(without(report(2), ("spec",)))
    told.run(1000)

    assert "False" == condition(told, "Available")["status"]


def test_what_has_no_health_is_available_as_soon_as_it_is_there() -> None:
    """A ConfigMap is not waited for."""
    told = story(member("a"), placement(), configmap())
    told.run(0)
    told.files["feedback/a/settings.yaml"] = text({**configmap(), "status": {"seen": True}})
    told.run(1)

    assert "True" == condition(told, "Available")["status"]


def test_what_is_silent_of_what_has_health_leaves_the_whole_unknown() -> None:
    """That its ConfigMap is there does not say that a Deployment runs; silence ends as ever."""
    told = story(member("a"), placement(), deployment(), configmap())
    told.run(0)
    told.files["feedback/a/settings.yaml"] = text({**configmap(), "status": {"seen": True}})
    told.run(1)

    assert [] == [kind for kind in conditions(told) if kind.endswith("Available")]

    told.run(60)

    assert "True" == condition(told, "Available")["status"]


def conditions(told: Story) -> list[str]:
    """The types of conditions of the placement that hold."""
    path = f"status/clusterresourceplacements.{GROUP}/web.yaml"
    status = told.output(path)["status"]
    assert isinstance(status, dict)
    return [one["type"] for one in status["conditions"] if one["status"] == "True"]
