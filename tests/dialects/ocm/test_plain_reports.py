"""Plain reports drive a rollout where no ManifestWork is reported."""

from tests.builders import Body, configuration, deployment, metadata, text
from tests.dialects.ocm.sets import (
    condition,
    fleet,
    progressive,
    replica_set,
    succeed,
    templates,
)
from tests.stories import Story

RULE = {
    "resourceIdentifier": {
        "group": "apps",
        "resource": "deployments",
        "namespace": "default",
        "name": "web",
    },
    "conditionRules": [
        {
            "type": "CEL",
            "condition": "Progressing",
            "celExpressions": ["object.status.readyReplicas < 2"],
        }
    ],
}
NEVER = configuration(feedback={"assumeAfterSeconds": None})


def shop(replicas: int = 2, *, rule: Body | None = RULE, **strategy: object) -> Body:
    """A set of a Deployment that one cluster after the other gets."""
    body = replica_set(deployment(replicas=replicas), strategy=progressive(**strategy))
    spec = body["spec"]
    assert isinstance(spec, dict)
    if rule is not None:
        spec["manifestWorkTemplate"]["manifestConfigs"] = [rule]
    return body


def says(told: Story, cluster: str, ready: int, generation: int = 1, *, name: str = "web") -> Story:
    """Let a cluster report a Deployment, as `reconciler import` writes it."""
    own = metadata(name, "default", generation=generation)
    status = {"readyReplicas": ready, "observedGeneration": generation}
    report = {**deployment(), "metadata": own, "status": status}
    del report["spec"]
    told.files[f"feedback/{cluster}/web.yaml"] = text(report)
    return told


def rolling(*bodies: Body) -> Story:
    """Two clusters, of which the first has the set; nothing is assumed."""
    told = fleet("a", "b").put(*(bodies or (shop(),)), NEVER)
    told.run(0)
    return told


def test_a_rollout_goes_on_as_plain_reports_say_that_it_is_done() -> None:
    """The condition rule of the template is asked of the object that is reported."""
    told = says(rolling(), "a", 1)
    told.run(10)

    assert ["a"] == sorted(templates(told))

    says(told, "a", 2).run(20)

    assert ["a", "b"] == sorted(templates(told))


def test_reports_from_before_the_template_say_nothing_of_it() -> None:
    """A cluster that ran well before it got the template has to say so again."""
    told = says(rolling(), "a", 2)
    told.run(10)
    says(told, "b", 2).run(20)
    told.put(shop(3)).run(30)
    first = {name for name, one in templates(told).items() if one != templates(told)["b"]}
    told.run(40)

    assert {"a"} == first
    assert templates(told)["a"] != templates(told)["b"]

    says(told, "a", 3, generation=2).run(50)

    assert templates(told)["a"] == templates(told)["b"]


def test_a_soak_begins_when_reports_first_say_that_it_is_done() -> None:
    """It is not begun anew by another report that says the same."""
    told = says(rolling(shop(minSuccessTime="1m")), "a", 2)
    told.run(10)
    says(told, "a", 3).run(40)
    told.run(69)

    assert ["a"] == sorted(templates(told))

    told.run(70)

    assert ["a", "b"] == sorted(templates(told))


def test_a_second_pass_over_plain_reports_changes_nothing() -> None:
    """What was observed stands in the status file."""
    told = says(rolling(), "a", 1)
    told.run(10)

    assert () == told.run(20).changes


def test_a_manifest_work_counts_more_than_plain_reports() -> None:
    """It is what the agent says itself."""
    told = says(rolling(), "a", 1)
    succeed(told, "a").run(10)

    assert ["a", "b"] == sorted(templates(told))


def test_without_a_rule_progress_is_assumed_as_ever() -> None:
    """Upstream would wait for ever, since no rule says when it is done."""
    told = fleet("a", "b").put(shop(rule=None))
    told.run(0)
    says(told, "a", 2).run(59)

    assert ["a"] == sorted(templates(told))

    told.run(60)

    assert ["a", "b"] == sorted(templates(told))


def test_reports_of_other_objects_say_nothing_of_a_set() -> None:
    """Its cluster is as silent as before."""
    told = says(rolling(), "a", 2, name="other")
    told.run(10)

    assert ["a"] == sorted(templates(told))


def test_what_plain_reports_say_is_summed_up() -> None:
    """Both clusters have it and are done."""
    told = says(rolling(), "a", 2)
    told.run(10)
    says(told, "b", 2).run(20)

    assert ("True", "AsExpected") == condition(told, "ManifestworkApplied")
