"""What real control planes held, adopted: nothing moves, and what is rendered is equal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from reconciler.audit.references import check_references
from reconciler.core.reconcile import reconcile
from reconciler.dialects.karmada.binding.renderer import KarmadaRenderers
from reconciler.imports.adoption import Adoption, adopt
from reconciler.imports.plan import decisions_among
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, text
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from tests.builders import configuration
from tests.builders import text as text_of_file
from tests.imports.hubs import objects
from tests.imports.imported import ABSENCE, OUTPUT_RULES, import_into, propagated, texts
from tests.imports.recorded import AppliedFleet, recorded
from tests.imports.test_agent_reports import OF_NAMESPACES, WITHOUT_WORKS, by_name, marks_of
from tests.stories import Story

pytestmark = pytest.mark.cpu_seconds(60)  # fleets of hundreds of objects

RECORDED_AT = datetime(2026, 11, 23, 3, 0, tzinfo=UTC)
HOUR = (1, 60, 90, 300, 301, 600, 3600)
STEPS = ("Fleet", "Step scale_up", "Step scale_down", "Step requests")
SCALED_DOWN = STEPS[2]
MISTAKEN = {
    *("aff-none", "aff-second", "dup-min-only", "dup-names", "pay-break", "static-missing"),
    *("none", "nosuch", "p20", "p25", "p26", "p28", "t01", "u00"),
}
"""Objects that name, select or ask for what is not there."""


@dataclass(frozen=True)
class Adopted:
    """A repository with what was adopted, and how that went."""

    told: Story
    adoption: Adoption


def adopted(inputs: Mapping[str, str], live: Sequence[Body]) -> Adopted:
    """Adopt live objects beside the files of people."""
    told = Story(files=dict(inputs), now=RECORDED_AT)
    found = adopt(told.world(), decisions_among(objects(live)), told.now, OUTPUT_RULES, ABSENCE)
    told.files |= {output_path("status", key): encode(one) for key, one in found.outputs.items()}
    return Adopted(told, found)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> AppliedFleet:
    """What was applied to the Karmada hub."""
    return AppliedFleet(tmp_path_factory.mktemp("hub") / "story.git")


@pytest.fixture(scope="module", params=["karmada", "kubefleet", "ocm"])
def hub(request: pytest.FixtureRequest, fleet: AppliedFleet) -> Adopted:
    """A hub as it was recorded; to Karmada's the files are known that were applied."""
    if request.param == "karmada":
        return adopted(written(fleet.after(SCALED_DOWN)), recorded("karmada-bindings"))
    export = recorded(request.param)
    return adopted(imported(export), export)


def imported(export: Sequence[Body]) -> dict[str, str]:
    """Return the files that an export becomes."""
    return texts(import_into({}, export, propagated(export)))


def written(files: Mapping[str, str]) -> dict[str, str]:
    """Return what people wrote."""
    return {path: data for path, data in files.items() if not path.startswith("status/")}


def bindings(files: Mapping[str, str]) -> list[Body]:
    """Return the bindings of the state, which have the hub's uids."""
    return [
        read(data.encode(), path).documents[0].body
        for path, data in files.items()
        if "bindings.work.karmada.io/" in path
    ]


def places(found: Sequence[Body]) -> dict[str, list[tuple[str, object]]]:
    """Return clusters and replicas by the name of the binding."""
    return {
        f"{text(mapping(one, 'metadata'), 'namespace')}/{text(mapping(one, 'metadata'), 'name')}": [
            (text(cluster, "name"), cluster.get("replicas"))
            for cluster in bodies(mapping(one, "spec"), "clusters")
        ]
        for one in found
    }


def state(world: World) -> list[Body]:
    """Return the bindings of a world."""
    return [one.body for key, one in world.outputs.items() if key.group == "work.karmada.io"]


def test_nothing_is_moved_nor_placed_anew(hub: Adopted) -> None:
    """At once, as the adoption says itself."""
    assert ((), (), ()) == (hub.adoption.moves, hub.adoption.new, hub.adoption.coming)
    assert frozenset() == hub.adoption.kept


def test_nothing_is_left_but_what_is_over(hub: Adopted) -> None:
    """Snapshots that were replaced."""
    assert {"it is not the latest"} >= set(hub.adoption.left.values())
    assert {"Snapshot"} >= {key.kind[-8:] for key in hub.adoption.left}


def test_works_of_sets_are_delivered_as_they_are_on_the_hub() -> None:
    """Each under its name, with its labels and its spec."""
    export = recorded("ocm")
    delivery = text_of_file(configuration(delivery={"manifestworks": {}}))
    found = adopted({**imported(export), "reconciler.yaml": delivery}, export)
    found.told.run()
    live = {identity(one): one for one in export if one["kind"] == "ManifestWork"}
    ours = {
        identity(one): one
        for path, data in found.told.files.items()
        if path.startswith("manifestworks/")
        for one in [read(data.encode(), path).documents[0].body]
        if one.get("kind") == "ManifestWork"
    }

    assert 28 == len(live)
    assert {key: kept(one) for key, one in live.items()} == {
        key: kept(one) for key, one in ours.items()
    }


def identity(body: Body) -> tuple[str, str]:
    """Return namespace and name."""
    metadata = mapping(body, "metadata")
    return text(metadata, "namespace"), text(metadata, "name")


def kept(work: Body) -> tuple[Body, Body]:
    """Return the labels and the spec of a work."""
    return mapping(mapping(work, "metadata"), "labels"), mapping(work, "spec")


def test_no_pass_of_the_first_hour_writes_anything(hub: Adopted) -> None:
    """What is adopted is as a pass leaves it."""
    for seconds in HOUR:
        hub.told.now = RECORDED_AT + timedelta(seconds=seconds)
        outcome = reconcile(hub.told.world(), hub.told.now)

        assert ((), ()) == (outcome.changes, outcome.decisions)


def test_of_what_people_wrote_there_only_the_mistakes_are_doubted(hub: Adopted) -> None:
    """Whoever filled the hubs made some on purpose, and of hundreds of objects nothing else is."""
    found = {one.fault.subject.rpartition("/")[2] for one in check_references(hub.told.world(), {})}

    assert found <= MISTAKEN


def test_all_bindings_are_adopted_with_the_uids_of_the_hub(fleet: AppliedFleet) -> None:
    """By which ties go."""
    live = recorded("karmada-bindings")
    found = adopted(written(fleet.after(SCALED_DOWN)), live)
    uids = {
        text(mapping(mapping(one, "spec"), "resource"), "uid") for one in state(found.told.world())
    }

    assert {} == found.adoption.left
    assert 205 == len(live) == len(uids)
    assert {text(mapping(mapping(one, "spec"), "resource"), "uid") for one in live} == uids


@pytest.mark.parametrize(("before", "step"), [*pairwise(STEPS)])
def test_an_adopted_fleet_is_divided_as_the_hub_divides_it(
    fleet: AppliedFleet, before: str, step: str
) -> None:
    """After the step that was recorded; up, down, and with other requests."""
    then, now = fleet.after(before), fleet.after(step)
    found = adopted(written(then), bindings(then))
    told = Story(files={**found.told.outputs, **written(now)}, now=RECORDED_AT)
    told.run()
    expected = places(bindings(now))
    decided = places(state(told.world()))

    assert 202 == len(expected)
    assert expected == {name: decided[name] for name in expected}


def test_the_hub_itself_goes_on_here(fleet: AppliedFleet) -> None:
    """Its own bindings, and then the step that was applied to it next."""
    found = adopted(written(fleet.after(SCALED_DOWN)), recorded("karmada-bindings"))
    now = fleet.after(STEPS[-1])
    told = Story(files={**found.told.outputs, **written(now)}, now=RECORDED_AT)
    told.run()
    decided, expected = places(state(told.world())), places(bindings(now))

    assert expected == {name: decided[name] for name in expected}


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What people had written by the moment of the recordings."""
    fleet = AppliedFleet(Path(tmp_path_factory.mktemp("hub")) / "story.git")
    files = fleet.after("Step scale_down")
    return {path: data for path, data in files.items() if not path.startswith("status/")}


def rendered(applied: Mapping[str, str], live: Sequence[Body]) -> dict[tuple[str, str], Body]:
    """The Works of the repository once the hub is adopted, by namespace and name."""
    told = Story(files=dict(applied), now=RECORDED_AT)
    found = adopt(told.world(), decisions_among(objects(live)), told.now, OUTPUT_RULES)
    told.files |= {output_path("status", key): encode(one) for key, one in found.outputs.items()}
    return by_name(works_of(told.world()))


def works_of(world: World) -> Iterator[Body]:
    """Yield what each decision brings to each cluster."""
    renderer = KarmadaRenderers().of(world, settings_in(world))
    for owner in renderer.owners():
        found = renderer.render(owner)
        for one in () if found is None else found.works:
            yield one.fill(one.carrier, tuple(one.manifests.values()))


def standing() -> dict[tuple[str, str], Body]:
    """The Works of the hub that were not being deleted."""
    listed = recorded("karmada-works")
    return by_name([one for one in listed if "deletionTimestamp" not in at(one, "metadata")])


def kind_of(work: Body) -> object:
    """The kind of what a Work carries."""
    (manifest,) = manifests_of(work)
    return manifest["kind"]


def manifests_of(work: Body) -> Sequence[Body]:
    """What a Work carries."""
    manifests = at(work, "spec", "workload")["manifests"]
    assert isinstance(manifests, list | tuple)
    return manifests


def differing(ours: Mapping[tuple[str, str], Body], *, namespaces: bool) -> set[str]:
    """Return by what Works differ from the hub's, and that all of them are there."""
    theirs = standing()
    assert theirs.keys() == ours.keys()
    found: set[str] = set()
    for key, work in theirs.items():
        if (kind_of(work) == "Namespace") is namespaces:
            before, now = marks_of(work), marks_of(ours[key])
            found |= {name for name in {*before, *now} if before.get(name) != now.get(name)}
    return found


def test_all_works_have_the_metadata_of_the_hub(applied: Mapping[str, str]) -> None:
    """524 of bindings without an exception, and 100 of Namespaces with those of the table."""
    ours = rendered(applied, [*recorded("karmada-bindings"), *recorded("karmada-works")])
    of_namespaces = [kind_of(one) == "Namespace" for one in ours.values()]

    assert (524, 100) == (of_namespaces.count(False), of_namespaces.count(True))
    assert set() == differing(ours, namespaces=False)
    assert set(OF_NAMESPACES) == differing(ours, namespaces=True)


def test_without_works_two_marks_of_them_differ(applied: Mapping[str, str]) -> None:
    """Their ids, and generations, as the table says."""
    ours = rendered(applied, recorded("karmada-bindings"))

    assert set(WITHOUT_WORKS) == differing(ours, namespaces=False)


def test_their_content_is_that_of_the_hub(applied: Mapping[str, str]) -> None:
    """But for defaults of an API server, which the files that people wrote do not have."""
    ours = rendered(applied, [*recorded("karmada-bindings"), *recorded("karmada-works")])
    found = {
        where
        for key, work in standing().items()
        for where in strays(content_of(work), content_of(ours[key]))
    }

    assert set() == found


def content_of(work: Body) -> Body:
    """The spec of a Work, and all of its manifest but its metadata."""
    (manifest,) = manifests_of(work)
    told = {name: one for name, one in manifest.items() if name != "metadata"}
    spec = {name: one for name, one in at(work, "spec").items() if name != "workload"}
    return {"spec": spec, "manifest": told}


def strays(theirs: object, ours: object, path: str = "") -> Iterator[str]:
    """Yield where ours says something else than the hub; what ours leaves out is its default."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        for name, value in ours.items():
            yield from strays(theirs.get(name), value, f"{path}/{name}")
    elif isinstance(theirs, list | tuple) and isinstance(ours, list | tuple):
        if len(theirs) != len(ours):
            yield path
        for before, now in zip(theirs, ours, strict=False):
            yield from strays(before, now, f"{path}/*")
    elif theirs != ours:
        yield path
