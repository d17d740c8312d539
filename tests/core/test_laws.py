"""The laws of a pass, each a property of arbitrary small repositories."""

import copy
import os
import random
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.reconcile import reconcile
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.reader import read
from reconciler.model.decision import Decision
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.records import replace
from reconciler.model.world import Manifest, World
from tests.bounded import examples
from tests.builders import (
    Body,
)
from tests.fleets import anonymous
from tests.stories import (
    Story,
    applied,
)
from tests.strategies import MALFORMED, edit, moments_between, objects, stories

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

LAW = settings(
    max_examples=examples(60),
    deadline=None,
    phases=(Phase.generate,),  # shrinking a repository takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ELAPSED = re.compile(r"-?[0-9.]+ minutes ago")
TRIGGER = re.compile(r"rescheduleTriggeredAt: .*")
RECORD_PATH = "status/reconciler.yaml"


def contents(outcome: Outcome) -> dict[str, str]:
    """Path to new content, `""` where a file goes."""
    return {
        change.path: change.content if isinstance(change, WriteFile) else ""
        for change in outcome.changes
    }


def shuffled(world: World, seed: int) -> World:
    """The same world with its mappings in another order."""
    chance = random.Random(seed)  # noqa: S311  # an order, not a secret

    def mixed(mapping: Mapping[ObjectKey, Manifest]) -> dict[ObjectKey, Manifest]:
        items = list(mapping.items())
        chance.shuffle(items)
        return dict(items)

    return replace(world, inputs=mixed(world.inputs), outputs=mixed(world.outputs))


@LAW
@given(stories(), st.integers(0, 1000))
def test_deterministic(told: Story, seed: int) -> None:
    """The order in which objects come changes nothing."""
    world = told.world()

    assert reconcile(world, told.now) == reconcile(shuffled(world, seed), told.now)


PROBE = """
from tests.builders import *
from tests.stories import *
told = story(
    *(cluster(name, labels={"x": name, "y": "1"}) for name in "dbca"),
    policy(placement={"replicaScheduling": DYNAMIC}), cluster_policy(),
    deployment(replicas=7), deployment("api"), configmap(), rebalancer(ttl=9),
    cluster("e", taints=[taint("x"), taint("y"), taint("z")]),
)
print(repr(told.run(0)))
"""


def test_deterministic_under_another_hash_seed() -> None:
    """The order of sets changes nothing."""
    answers = {
        subprocess.run(
            [sys.executable, "-c", PROBE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert 1 == len(answers)


@LAW
@given(stories())
def test_settled(told: Story) -> None:
    """Reconciling the result again at the same moment changes nothing."""
    told.files = applied(told.files, reconcile(told.world(), told.now))

    assert () == reconcile(told.world(), told.now).changes


@LAW
@given(stories())
def test_stamps_alone_never_make_a_change(told: Story) -> None:
    """A file is written only if more than the moments of this pass differ from the present one.

    The exception: consuming a trigger advances lastScheduledTime.
    """
    outcome = reconcile(told.world(), told.now)
    assert {change.path for change in outcome.files} != {RECORD_PATH}
    for path, content in contents(outcome).items():
        present = told.files.get(path)
        if present is None or path == RECORD_PATH or not content:
            continue
        triggers = [TRIGGER.findall(text) for text in (present, content)]
        if triggers[0] == triggers[1]:
            assert MOMENT.sub("", content) != MOMENT.sub("", present)


@LAW
@given(stories())
def test_timed(told: Story) -> None:
    """Before `recheck_at` a pass changes what it changes now, but for moments equal to its own."""
    world = told.world()
    first = reconcile(world, told.now)
    if first.recheck_at is None:
        until = told.now + timedelta(days=40)
    else:
        assert told.now < first.recheck_at
        until = first.recheck_at
    expected = relative(first, told.now, told.now)
    for moment in moments_between(told.now, until):
        assert expected == relative(reconcile(world, moment), moment, told.now)


@LAW
@given(stories())
def test_quiet_until_recheck(told: Story) -> None:
    """After a pass that was committed, time alone changes nothing before `recheck_at`."""
    outcome = reconcile(told.world(), told.now)
    told.files = applied(told.files, outcome)
    until = outcome.recheck_at or told.now + timedelta(days=40)
    world = told.world()
    for moment in moments_between(told.now, until):
        assert () == reconcile(world, moment).changes


def relative(outcome: Outcome, *moments: datetime) -> dict[str, str]:
    """The changes with these moments made anonymous, and minutes that went by."""
    found = {}
    for path, content in contents(outcome).items():
        found[path] = ELAPSED.sub("", content)
        for moment in moments:
            found[path] = anonymous(found[path], format_moment(moment))
            found[path] = found[path].replace(format_moment(moment), "NOW")
    return found


@LAW
@given(stories())
def test_pure(told: Story) -> None:
    """The world equals its deep copy after the call."""
    world = told.world()
    before = copy.deepcopy(world)
    reconcile(world, told.now)

    assert before == world


@LAW
@given(stories(), st.sampled_from(sorted(MALFORMED)))
def test_local(told: Story, path: str) -> None:
    """A malformed or misconfigured object changes nothing for those that do not refer to it.

    The one exception: an object whose file vanished in the same step stays.
    """
    told.run()
    before = contents(reconcile(told.world(), told.now))
    told.files[path] = MALFORMED[path]
    assume(not any(held.beside for held in told.world().held))
    changed = contents(reconcile(told.world(), told.now))
    ours = {"status/faults.yaml", "status/reconciler.yaml"}

    others = {key for key in changed.keys() - ours if "/zz/" not in key}

    assert {key: before[key] for key in before.keys() - ours} == {
        key: changed[key] for key in others
    }


@LAW
@given(stories())
def test_explained(told: Story) -> None:
    """Every cluster that a filter turned away has a reason, and a shortage is told."""
    world = told.world()
    outcome = reconcile(world, told.now)
    told.files = applied(told.files, outcome)
    after = told.world()
    fleet = {key.name for key in world.inputs if key.kind == "Cluster"}
    for decision in outcome.decisions:
        body = after.outputs.get(decision.key)
        if body is not None and decision.key.group == "work.karmada.io":
            assert_explained(decision, body.body, fleet)


def assert_explained(decision: Decision, body: Body, fleet: set[str]) -> None:
    """Check one decision against its binding."""
    spec, status = cast(Body, body["spec"]), cast(Body, body["status"])
    conditions = cast(Sequence[Mapping[str, str]], status["conditions"])
    told = {item["type"]: item for item in conditions}
    if decision.problem:
        assert ("False", decision.problem) == (
            told["Scheduled"]["status"],
            told["Scheduled"]["message"],
        )
    chosen = {str(name) for name, _ in decision.after}
    placement = cast(Mapping[str, Mapping[str, object]], spec.get("placement") or {})
    scheduling = placement.get("replicaScheduling", {}).get("replicaSchedulingType", "Duplicated")
    if "Scheduled" in told and told["Scheduled"]["reason"] == "NoClusterFit":
        assert fleet <= {str(name) for name in decision.rejected}  # and those without a file
    elif told.get("Scheduled", {}).get("reason") == "QuotaExceeded":
        assert decision.problem  # clusters were found, and are not taken
    elif decision.rejected and scheduling == "Duplicated" and "spreadConstraints" not in placement:
        assert fleet <= chosen | {str(name) for name in decision.rejected}
    event(f"{scheduling}, {len(decision.rejected)} rejected")


@LAW
@given(stories())
def test_every_shortage_is_told(told: Story) -> None:
    """A binding with fewer replicas than asked says why in its Scheduled condition."""
    told.files = applied(told.files, reconcile(told.world(), told.now))
    for key, manifest in told.world().outputs.items():
        if key.group != "work.karmada.io":
            continue
        spec = cast(Mapping[str, object], manifest.body["spec"])
        if is_ours(manifest) and is_short(spec):
            status = cast(Body, manifest.body["status"])
            conditions = cast(Sequence[Mapping[str, str]], status["conditions"])
            assert ["False"] == [c["status"] for c in conditions if c["type"] == "Scheduled"]


def is_ours(binding: Manifest) -> bool:
    """Whether our scheduler looks at a binding: it is claimed, and not suspended."""
    spec = cast(Mapping[str, Mapping[str, object]], binding.body["spec"])
    metadata = cast(Body, binding.body["metadata"])
    return (
        "labels" in metadata
        and cast(object, spec["schedulerName"]) == "default-scheduler"
        and not spec.get("suspension", {}).get("scheduling")
    )


def is_short(spec: Body) -> bool:
    """Whether a binding is on no cluster, or on too few replicas where these are divided."""
    clusters = cast(Sequence[Mapping[str, int]], spec.get("clusters", ()))
    wanted = cast(int, spec.get("replicas", 0))
    placement = cast(Mapping[str, Mapping[str, object]], spec["placement"])
    scheduling = placement.get("replicaScheduling", {}).get("replicaSchedulingType")
    if scheduling == "Divided" and ("replicaRequirements" in spec or wanted):
        return sum(item.get("replicas", 0) for item in clusters) < wanted
    return not clusters and wanted > 0


@LAW
@given(stories())
def test_round_trip(told: Story) -> None:
    """Reading what was written gives what was meant, and writing that gives the same bytes."""
    outcome = reconcile(told.world(), told.now)
    for path, content in contents(outcome).items():
        if not content or not path.startswith("status/"):
            continue
        reading = read(content.encode(), path)
        assert () == reading.faults
        assert [content] == [encode(document.body) for document in reading.documents]


@LAW
@given(stories(), objects(), objects(), st.integers(0, 15))
def test_level_triggered(told: Story, first: list[Body], second: list[Body], share: int) -> None:
    """Several edits taken together give what their squash gives."""
    squashed = copy.deepcopy(told)
    for bodies in (first, second):
        edit(told, bodies, share)
        told.world()
    squashed.files = dict(told.files)

    assert reconcile(squashed.world(), told.now) == reconcile(told.world(), told.now)
