"""What a person applies to a hub by hand: the filter of docs/delivery.md, and who needs it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.dialects.karmada.binding.renderer import KarmadaRenderers
from reconciler.model.body import Body
from reconciler.model.fields import at, without
from reconciler.model.settings import settings_in
from tests.imports.recorded_works import recorded_bindings, recorded_works
from tests.imports.test_delivered_metadata import adopted

PAGE = Path(__file__).parents[2] / "docs" / "delivery.md"
FILTER = re.compile(r"<!-- filter -->\n```\nyq 'del\((.*)\)'")
MADE_BY_SERVERS = ("uid", "creationTimestamp", "generation", "resourceVersion", "managedFields")


def applied(body: Body) -> Body:
    """What an API server answers to a server-side apply of an object that it does not have.

    The Status has the shape that a kube-apiserver gave to a conflict of field managers, and what is
    created the fields that it gave a Deployment. That a uid is a conflict is not recorded: it is
    invented after k8s.io/apiserver pkg/endpoints/handlers/patch.go, the text included.
    """
    metadata = at(body, "metadata")
    if metadata.get("uid"):
        name, uid = metadata["name"], metadata["uid"]
        return {
            "apiVersion": "v1",
            "code": 409,
            "kind": "Status",
            "message": f'Operation cannot be fulfilled on "{name}": uid mismatch: the provided '
            f"object specified uid {uid}, and no existing object was found",
            "metadata": {},
            "reason": "Conflict",
            "status": "Failure",
        }
    made = {"uid": "e7db8da2-a943-4696-a72b-71c2431bd45d", "resourceVersion": "278"}
    kept = {name: value for name, value in metadata.items() if name not in MADE_BY_SERVERS}
    return {**body, "metadata": {**kept, **made, "generation": 1}, "status": {}}


def filtered(body: Body) -> Body:
    """An object as the filter of the page leaves it."""
    found = FILTER.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    for path in found[1].split(", "):
        body = without(body, tuple(path.removeprefix(".").split(".")))
    return body


def bindings() -> Iterator[Body]:
    """The bindings of a repository that took a hub over."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    return (one.body for key, one in world.outputs.items() if key.kind.endswith("Binding"))


def works() -> Iterator[Body]:
    """The Works that it delivers."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    renderer = KarmadaRenderers().of(world, settings_in(world))
    for owner in renderer.owners():
        rendered = renderer.render(owner)
        assert rendered is not None
        for one in rendered.works:
            yield one.fill(one.carrier, tuple(one.manifests.values()))


def test_an_api_server_refuses_a_binding_as_it_stands() -> None:
    """For its uid, which is ours."""
    answers = [applied(body) for body in bindings()]

    assert 3 == len(answers)
    assert {"Conflict"} == {answer["reason"] for answer in answers}


def test_it_takes_a_filtered_one_whole() -> None:
    """What is decided of it, its labels and its annotations; no owner that is not there."""
    for body in bindings():
        answer = applied(filtered(body))

        assert body["spec"] == answer["spec"]
        for field in ("labels", "annotations", "name"):
            assert at(body, "metadata").get(field) == at(answer, "metadata").get(field)
        assert "ownerReferences" not in at(answer, "metadata")


@pytest.mark.parametrize("field", [*MADE_BY_SERVERS, "ownerReferences"])
def test_works_need_no_filter(field: str) -> None:
    """Nothing that a server makes is in them, nor in what they carry."""
    listed = list(works())

    assert listed
    for work in listed:
        manifests = at(work, "spec", "workload")["manifests"]
        assert isinstance(manifests, tuple)
        assert not any(field in at(one, "metadata") for one in (work, *manifests))
        assert "Work" == applied(work)["kind"]
