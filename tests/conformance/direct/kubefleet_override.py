"""The family kubefleet/override: which overrides there are for a cluster, and its Works."""

from collections.abc import Container, Iterable
from typing import cast

from reconciler.dialects.kubefleet.api.binding import decode_binding
from reconciler.dialects.kubefleet.api.names import UnexpectedBehavior
from reconciler.dialects.kubefleet.api.snapshots import is_latest
from reconciler.dialects.kubefleet.overrides import (
    MemberLabels,
    Override,
    OverrideTarget,
    decode_override,
    overrides_of_cluster,
    overrides_of_placement,
    snapshots_of,
)
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import snapshot_group
from reconciler.dialects.kubefleet.snapshots.selection import ENVELOPES
from reconciler.dialects.kubefleet.workgenerator.content import targets_of
from reconciler.dialects.kubefleet.workgenerator.renderer import (
    MemberRendering,
    is_rendered,
    render_binding,
)
from reconciler.dialects.renderer import ClusterWork
from reconciler.errors import UserError
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.labels import labels_of
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.direct.kubefleet_placement import HUB

OVERRIDES = ("clusterResourceOverrideSnapshots", "resourceOverrideSnapshots")
NONE_LEFT = "No override rules are configured for the selected resources"
SUCCEEDED = "Successfully applied the override rules on the resources"


def check_override(case: Body) -> str | None:
    """Compare what matches, what is picked, what comes of the overrides, and the Works.

    A Work that stays as it is has no content in the vectors; only its name is compared.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    overrides = sorted(
        (one for name in OVERRIDES for one in _overrides(given, name)),
        key=lambda one: (one[0].namespace, one[0].snapshot),
    )
    answer: dict[str, object] = {}
    try:
        picked = _picked(given, overrides, answer)
    except UserError as error:
        kind = "unexpected-behavior" if isinstance(error, UnexpectedBehavior) else "user"
        answer["picked"] = {"error": {"kind": kind}}
        picked = None
    if picked is not None:
        answer |= _worked(given, picked)
    return first_difference(*_in_brief(expected, answer))


def _overrides(given: Body, field: str) -> Iterable[tuple[Override, bool]]:
    """Yield each override, and whether it is the latest of its name."""
    for body in cast(list[Body], given[field]):
        metadata = mapping(body, "metadata")
        name, namespace = text(metadata, "name"), text(metadata, "namespace")
        spec = mapping(mapping(body, "spec"), "overrideSpec")
        yield decode_override(ObjectKey("", "", namespace, name), spec, name), is_latest(body)


def _picked(
    given: Body, overrides: list[tuple[Override, bool]], answer: dict[str, object]
) -> list[Override] | None:
    """Return the overrides for the cluster, `None` if there is no cluster; note them."""
    binding = cast(Body, given["binding"])
    if given["mode"] == "work":
        spec = mapping(binding, "spec")
        names = {("", name) for name in strings(spec, OVERRIDES[0])}
        names |= {(text(o, "namespace"), text(o, "name")) for o in bodies(spec, OVERRIDES[1])}
        return [one for one, _ in overrides if (one.namespace, one.snapshot) in names]
    latest = [one for one, is_last in overrides if is_last]
    matched = _matched(given, latest) if latest else []
    answer["matched"] = _told(matched)
    member = _member(given)
    if matched and member is None:
        answer["picked"] = {"error": {"kind": "expected-behavior"}}
        return None
    picked = overrides_of_cluster(matched, member) if member is not None else []
    answer["picked"] = _told(picked)
    return picked


def _matched(given: Body, latest: list[Override]) -> list[Override]:
    binding = decode_binding(cast(Body, given["binding"]))
    group = snapshot_group(binding.resource_snapshot, cast(list[Body], given["resourceSnapshots"]))
    targets = [
        target
        for snapshot in group
        for one in bodies(mapping(snapshot, "spec"), "selectedResources")
        for target in targets_of(one, is_namespaced)
    ]
    scope = f"{binding.namespace}/" if binding.namespace else ""
    placement = f"{scope}{binding.labels['kubernetes-fleet.io/parent-CRP']}"
    return overrides_of_placement(latest, placement, targets, is_namespaced)


def is_namespaced(target: OverrideTarget) -> bool:
    """Whether the hub of the vectors serves a kind as namespaced; one that it lacks counts so."""
    kind = target.group, target.kind
    return {**HUB.scopes, **ENVELOPES}.get(kind, True)


def _told(overrides: list[Override]) -> Body:
    return {"error": None, **dict(zip(OVERRIDES, snapshots_of(overrides), strict=True))}


def _member(given: Body) -> MemberLabels | None:
    members = cast(list[Body], given["memberClusters"])
    target = decode_binding(cast(Body, given["binding"])).target
    found = (one for one in members if mapping(one, "metadata")["name"] == target)
    member = next(found, None)
    return None if member is None else MemberLabels(ClusterName(target), labels_of(member))


def _worked(given: Body, picked: list[Override]) -> Body:
    """Return what comes of the overrides, and the Works."""
    binding = decode_binding(cast(Body, given["binding"]))
    member = _member(given)
    before = [text(mapping(one, "metadata"), "name") for one in cast(list[Body], given["works"])]
    if not is_rendered(binding) or member is None:
        return {"works": before}
    rendering = MemberRendering(member, picked, lambda entry: entry.body, is_namespaced)
    snapshots = cast(list[Body], given["resourceSnapshots"])
    try:
        works = render_binding(binding, snapshots, rendering)
    except UserError as error:
        return {"said": _said(error.message), "works": before}
    return {"said": SUCCEEDED if picked else NONE_LEFT, "works": [_work(one) for one in works]}


def _work(work: ClusterWork) -> Body:
    """Return a Work in the words of the vectors."""
    metadata, spec = mapping(work.carrier, "metadata"), mapping(work.carrier, "spec")
    applied = {name: spec[name] for name in ("applyStrategy",) if name in spec}
    return {**metadata, **applied, "manifests": list(work.manifests.values())}


def _said(message: str) -> str:
    """Return a message without what libraries say, which ends it."""
    if "label key" in message or "wrapped in" in message:
        return message
    end = '": ' if "failed to apply on" in message else ": "
    return message.partition(end)[0]


def _in_brief(expected: Body, answer: Body) -> tuple[Body, Body]:
    """Return both with the Works that stay as they are by name alone, in one order."""
    told: dict[str, object] = {}
    for step in ("matched", "picked"):
        if step in expected:
            one = cast(Body, expected[step])
            error = cast(Body | None, one["error"])
            told[step] = one if error is None else {"error": {"kind": error["kind"]}}
    if "works" not in expected:
        return told, answer
    works = [one for one in cast(list[Body], expected["works"]) if one["op"] != "deleted"]
    stay = {one["name"] for one in works if one["op"] == "none"}
    kept = [{k: v for k, v in one.items() if k != "op"} for one in works]
    said = [one["message"] for one in _outcome(expected)]
    told |= {"said": _said(str(said[0]))} if said else {}
    told["works"] = _named(kept, stay)
    return told, {**answer, "works": _named(cast(list[Body | str], answer["works"]), stay)}


def _outcome(expected: Body) -> list[Body]:
    """Return the condition that says what came of the overrides: one that is False first."""
    found = bodies(cast(Body, expected["binding"]), "conditions")
    kinds = ("Overridden", "WorkSynchronized")
    asked = [one for one in found if one["type"] in kinds]
    return sorted(asked, key=lambda one: (one["status"], one["type"]))


def _named(works: Iterable[Body | str], stay: Container[object]) -> list[object]:
    """Return Works by name, those that stay by their name alone."""
    names = {one if isinstance(one, str) else str(one["name"]): one for one in works}
    return [name if name in stay else names[name] for name in sorted(names)]
