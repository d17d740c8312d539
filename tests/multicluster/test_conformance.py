"""The rules of the conformance suite for cluster managers, asked of the profiles that passes write.

Source: cluster-inventory-api@540589a conformance/clusterprofile.go, rule by rule.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings

from reconciler.core.dialects import CLUSTERS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.model.world import World
from reconciler.multicluster.cluster_profile import (
    CLUSTER_PROFILE,
    HEALTHY,
    JOINED,
    MANAGER_LABEL,
    MEMBER_LABEL,
)
from tests.bounded import examples
from tests.builders import Body, cluster, cluster_status, configuration
from tests.core.test_laws import LAW
from tests.imports.hubs import karmada_hub
from tests.imports.imported import import_into, propagated
from tests.imports.recorded import recorded
from tests.shell.fleet import ROOT
from tests.stories import Story, story
from tests.strategies import objects

pytestmark = pytest.mark.cpu_seconds(60)  # fleets of hundreds of objects

NAMESPACE, MANAGER = "inventory", "reconciler"
PUBLISHING = configuration(
    inventory={"project": True, "publish": {"namespace": NAMESPACE, "manager": MANAGER}}
)
Profiles = Mapping[str, Body]


def labels(profile: Body) -> Mapping[str, str]:
    """The labels of a profile."""
    return cast(Mapping[str, str], cast(Any, profile["metadata"]).get("labels", {}))


def conditions(profile: Body) -> Sequence[str]:
    """The types of its conditions."""
    return [one["type"] for one in cast(Any, profile["status"]).get("conditions", ())]


def represented(profiles: Profiles, world: World) -> bool:
    """Every cluster of every API has a profile in the inventory, and nothing else has one."""
    named = {one.key.name for kind in CLUSTERS for one in world.written_of_kind(*kind)}
    return named == set(profiles)


def labelled_with_manager(profiles: Profiles, _: World) -> bool:
    """Each has the manager's label, with the name of the manager."""
    return all(
        labels(one)[MANAGER_LABEL] == cast(Any, one["spec"])["clusterManager"]["name"] == MANAGER
        for one in profiles.values()
    )


def member_id_not_empty(profiles: Profiles, _: World) -> bool:
    """A member id is not empty where the label stands."""
    return all(labels(one).get(MEMBER_LABEL, "-") for one in profiles.values())


def member_id_there(profiles: Profiles, _: World) -> bool:
    """Each has a member id."""
    return all(labels(one).get(MEMBER_LABEL) for one in profiles.values())


def one_profile_a_member(profiles: Profiles, _: World) -> bool:
    """No two are of one member."""
    return all(n == 1 for n in Counter(labels(p)[MEMBER_LABEL] for p in profiles.values()).values())


def healthy_told(profiles: Profiles, _: World) -> bool:
    """Each tells whether its control plane is healthy."""
    return all(HEALTHY in conditions(one) for one in profiles.values())


def joined_told(profiles: Profiles, _: World) -> bool:
    """Each tells whether it has joined."""
    return all(JOINED in conditions(one) for one in profiles.values())


def version_told(profiles: Profiles, world: World) -> bool:
    """Each tells the version of Kubernetes, as far as an API has a word for it and says it."""
    versions = {
        one.key.name
        for kind in CLUSTERS
        for one in world.written_of_kind(*kind)
        if "ubernetes" in str(cast(Any, one.body.get("status", {})).get("version", ""))
        or cast(Any, one.body.get("status", {})).get("kubernetesVersion")
    }
    told = {
        name
        for name, one in profiles.items()
        if cast(Any, one["status"]).get("version", {}).get("kubernetes")
    }
    return versions <= told


RULES: Mapping[str, Callable[[Profiles, World], bool]] = {
    "required: each registered cluster is represented": represented,
    "required: the manager's label": labelled_with_manager,
    "required: no empty member id": member_id_not_empty,
    "optional: a member id": member_id_there,
    "optional: one profile a member": one_profile_a_member,
    "optional: ControlPlaneHealthy": healthy_told,
    "optional: Joined": joined_told,
    "optional: the version of Kubernetes": version_told,
}


def profiles_of(told: Story) -> tuple[Profiles, World]:
    """The profiles after a pass, by name, each valid."""
    told.run()
    world = told.world()
    found = {one.key.name: one.body for one in world.outputs_of_kind(CLUSTER_PROFILE)}
    assert {NAMESPACE} >= {one.key.namespace for one in world.outputs_of_kind(CLUSTER_PROFILE)}
    assert not any(ADMISSIONS[CLUSTER_PROFILE](one) for one in found.values())
    return found, world


def example() -> Story:
    """The example repository."""
    folder = ROOT / "example-repo"
    files = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*.yaml")
        if path.name != "reconciler.yaml" and not path.relative_to(folder).parts[0].startswith(".")
    }
    return Story(files=files).put(PUBLISHING)


def imported(live: Sequence[Body]) -> Story:
    """What a live hub held, imported."""
    plan = import_into({}, live, propagated(live))
    return Story(files={path: data.decode() for path, data in plan.files.items()}).put(PUBLISHING)


FLEETS: Mapping[str, Callable[[], Story]] = {
    "example": example,
    "karmada": lambda: imported(karmada_hub(3)),
    "kubefleet": lambda: imported(recorded("kubefleet")),
    "ocm": lambda: imported(recorded("ocm")),
}


@pytest.mark.parametrize("fleet", FLEETS)
def test_profiles_of_real_fleets_keep_every_rule(fleet: str) -> None:
    """Of the example repository and of what live hubs held."""
    profiles, world = profiles_of(FLEETS[fleet]())

    assert profiles
    assert [] == [name for name, holds in RULES.items() if not holds(profiles, world)]


@settings(LAW, max_examples=examples(40))
@given(objects())
def test_profiles_of_any_fleet_keep_every_rule(bodies: list[Body]) -> None:
    """Whatever a repository holds; one without clusters has none."""
    profiles, world = profiles_of(story(*bodies).put(PUBLISHING))

    assert [] == [name for name, holds in RULES.items() if not holds(profiles, world)]


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_can_be_broken(rule: str) -> None:
    """So a test that holds says something."""
    versioned = cluster("a", status={**cluster_status(), "kubernetesVersion": "v1.34.1"})
    profiles, world = profiles_of(story(PUBLISHING, versioned))
    name = next(iter(profiles))
    body = cast(Any, profiles[name])
    broken: dict[str, Body] = {
        "required: each registered cluster is represented": {},
        "required: the manager's label": {**body, "metadata": {"labels": {MANAGER_LABEL: "x"}}},
        "required: no empty member id": {**body, "metadata": {"labels": {MEMBER_LABEL: ""}}},
        "optional: a member id": {**body, "metadata": {}},
        "optional: one profile a member": body,
        "optional: ControlPlaneHealthy": {**body, "status": {}},
        "optional: Joined": {**body, "status": {}},
        "optional: the version of Kubernetes": {**body, "status": {}},
    }
    second = "another" if rule == "optional: one profile a member" else name
    other = {second: broken[rule]} if broken[rule] else {}
    kept = {} if rule.startswith("required: each") else profiles

    assert not RULES[rule]({**kept, **other}, world)
