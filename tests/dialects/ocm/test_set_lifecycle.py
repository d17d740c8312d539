"""A ManifestWorkReplicaSet from its creation to its end, as the controller looks at it."""

from collections.abc import Sequence

import pytest

from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    SET_LABEL,
    SET_PLACEMENT_LABEL,
    decode_replica_set,
    decode_work,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import WORKS as GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    FINALIZER,
    DeleteWork,
    SetFinalizers,
    look_at,
)
from reconciler.model.fields import mapping
from tests.builders import Body
from tests.dialects.ocm.sets import fleet, replica_set, templates
from tests.dialects.ocm.worlds import at

WORKS = [
    decode_work(
        {
            "metadata": {
                "name": "w",
                "namespace": name,
                "labels": {SET_LABEL: "ns1.demo", SET_PLACEMENT_LABEL: "gone"},
            },
            "spec": {},
        }
    )
    for name in ("c1", "c2")
]


def looked(finalizers: Sequence[str], policy: str, *, deleted: bool, works: int) -> list[object]:
    """What one look does: clusters that lose their work, and the finalizers that are set."""
    metadata: dict[str, object] = {"name": "demo", "namespace": "ns1", "finalizers": [*finalizers]}
    metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    spec: Body = {"cascadeDeletionPolicy": policy} if policy else {}
    wanted = decode_replica_set({"metadata": metadata, "spec": spec})
    outcome = look_at(wanted, {}, WORKS[:works], at(0))

    assert () == outcome.conditions
    told: list[object] = []
    for action in outcome.actions:
        match action:
            case DeleteWork(work):
                told.append(work.cluster)
            case SetFinalizers(left):
                told.append(left)
            case _:
                told.append(action)
    return told


@pytest.mark.parametrize(
    ("finalizers", "policy", "works", "expected"),
    [
        pytest.param([FINALIZER], "Background", 2, ["c1", "c2", ()], id="at-once"),
        pytest.param([FINALIZER], "", 2, ["c1", "c2", ()], id="background-is-the-default"),
        pytest.param([FINALIZER], "Foreground", 2, ["c1", "c2"], id="waits-for-the-works"),
        pytest.param([FINALIZER], "Foreground", 0, [()], id="none-is-left"),
        pytest.param(["a", FINALIZER, "b"], "", 0, [("a", "b")], id="others-stay"),
        pytest.param(["a"], "", 2, ["c1", "c2"], id="without-its-own"),
        pytest.param([], "Foreground", 0, [], id="nothing-to-do"),
    ],
)
def test_a_deleted_set_takes_its_works_along(
    finalizers: Sequence[str], policy: str, works: int, expected: list[object]
) -> None:
    """All works go, of whichever placement; the policy says when the set goes."""
    assert expected == looked(finalizers, policy, deleted=True, works=works)


@pytest.mark.parametrize("others", [[], ["a"]])
def test_a_new_set_gets_its_finalizer_before_anything_else(others: list[str]) -> None:
    """Works are made by the next look."""
    assert [(*others, FINALIZER)] == looked(others, "", deleted=False, works=2)


def test_a_set_whose_name_fits_into_no_label_says_so() -> None:
    """It brings nothing anywhere."""
    written = replica_set()
    told = fleet("a").put(
        {**written, "metadata": {**mapping(written, "metadata"), "name": "x" * 70}}
    )
    told.run(0)
    file = told.files[f"status/manifestworkreplicasets.{GROUP}/ns1/{'x' * 70}.yaml"]

    assert "reason: InvalidManifestWorkName\n" in file
    assert "has 74 characters" in file
    assert "work.reconciler.dev/a" not in file


def test_a_file_is_a_set_that_stands() -> None:
    """What an API server writes into its metadata means nothing in a file."""
    written = replica_set()
    metadata = {**mapping(written, "metadata"), "deletionTimestamp": "2026-01-01T00:00:00Z"}
    told = fleet("a").put({**written, "metadata": {**metadata, "finalizers": ["other"]}})
    told.run(0)

    assert ["a"] == sorted(templates(told))
