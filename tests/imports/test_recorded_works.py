"""The Works of a real hub, and what is rendered once it is adopted: equal, but for a table."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.dialects.karmada.binding.renderer import KarmadaRenderers
from reconciler.imports.adoption import adopt
from reconciler.imports.plan import decisions_among
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from tests.imports.hubs import objects
from tests.imports.imported import OUTPUT_RULES
from tests.imports.recorded_hubs import AppliedFleet, recorded
from tests.imports.test_delivered_metadata import OF_NAMESPACES, WITHOUT_WORKS, by_name, marks_of
from tests.stories import Story

pytestmark = pytest.mark.cpu_seconds(60)  # a fleet of hundreds of objects

RECORDED_AT = datetime(2026, 11, 23, 3, 0, tzinfo=UTC)


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
