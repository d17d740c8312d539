"""The family karmada/render: what each cluster of a binding gets."""

from collections.abc import Mapping
from typing import cast

from reconciler.dialects.karmada.api.binding_spec import decode_spec
from reconciler.dialects.karmada.api.cluster import decode_cluster, members_of
from reconciler.dialects.karmada.api.workload import UPSTREAM_ONLY
from reconciler.dialects.karmada.binding.works import (
    RenderedBinding,
    Rendering,
    kept_clusters,
    merged_targets,
    name_of,
    render_binding,
)
from reconciler.dialects.karmada.overridemanager.overrides import (
    OverridePolicies,
    decode_override_policy,
    index_overrides,
)
from reconciler.dialects.renderer import ClusterWork, NotRendered
from reconciler.model.fields import at, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, Origin, group_of
from reconciler.model.world import Manifest
from tests.builders import Body
from tests.conformance.compare import first_difference

PREFIXES = ("resourcebinding.karmada.io", "clusterresourcebinding.karmada.io")


def check_render(case: Body) -> str | None:
    """Compare targets, the Work's name, and of each cluster the Work and its manifest.

    Of errors only that there is one: their words are those of Go's libraries.
    """
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    binding, template = cast(Body, given["binding"]), cast(Body, given["template"])
    gates = cast(Mapping[str, bool], given.get("featureGates", {}))
    rendering = rendering_of(given, keeps_state=gates.get("StatefulFailoverInjection", False))
    key = key_of(template)
    metadata, spec = mapping(binding, "metadata"), decode_spec(binding)
    names = text(metadata, "namespace"), text(metadata, "name")
    named = RenderedBinding(*names, spec, key, _permanent_id(binding))
    rendered = tuple(render_binding(named, merged_targets(spec), template, rendering))
    answer: dict[str, object] = {
        "targets": [_target(target.name, target.replicas) for target in merged_targets(spec)],
        "workName": name_of(template),
        "clusters": told(rendered),
    }
    if "works" in given:
        kept = kept_clusters(spec)
        works = cast(list[Body], given["works"])
        orphans = [work for work in works if _is_orphan(work, binding, kept)]
        stay: dict[str, object] = {
            _cluster(work): _work(work) for work in works if work not in orphans
        }
        answer["removedWorks"] = [_path(work) for work in orphans]
        answer["clusters"] = {**stay, **told(rendered)}
    if any(isinstance(one, NotRendered) for one in rendered):
        answer["error"] = expected.get("error")
    return first_difference(in_brief(expected), answer)


def in_brief(expected: Body) -> Body:
    """Return what is expected with each error as a mere `True`."""
    clusters = {
        name: {"error": True} if "error" in one else one
        for name, one in cast(Mapping[str, Body], expected.get("clusters", {})).items()
    }
    return {**expected, "clusters": clusters}


def rendering_of(given: Body, *, keeps_state: bool = False) -> Rendering:
    """Return the fleet and the overrides of a vector."""
    policies = cast(list[Body], given.get("overridePolicies", []))
    manifests = [Manifest(key_of(body), Origin(""), body) for body in policies]
    overrides = (
        index_overrides(map(decode_override_policy, manifests)) if manifests else OverridePolicies()
    )
    members = members_of(map(decode_cluster, cast(list[Body], given["clusters"])))
    return Rendering(
        members=members,
        overrides=overrides,
        custom_kinds=UPSTREAM_ONLY,
        identified=False,  # by the webhook of Works, which is asked later
        keeps_state=keeps_state,
    )


def told(rendered: tuple[ClusterWork | NotRendered, ...]) -> dict[str, object]:
    """Return what each cluster gets, in the words of the vectors."""
    clusters: dict[str, object] = {}
    for one in rendered:
        if isinstance(one, NotRendered):
            clusters[one.cluster] = {"error": True}
            continue
        metadata = cast(Body, one.carrier["metadata"])
        (manifest,) = one.manifests.values()
        work = {**metadata, **cast(Body, one.carrier["spec"])}
        clusters[one.cluster] = {"work": work, "manifest": manifest}
    return clusters


def key_of(body: Body) -> ObjectKey:
    """Return the identity of an object."""
    metadata = mapping(body, "metadata")
    group = group_of(text(body, "apiVersion"))
    named = text(metadata, "namespace"), text(metadata, "name")
    return ObjectKey(group, text(body, "kind"), *named)


def _permanent_id(binding: Body) -> str:
    labels = mapping(mapping(binding, "metadata"), "labels")
    return next(
        (
            text(labels, f"{one}/permanent-id")
            for one in PREFIXES
            if f"{one}/permanent-id" in labels
        ),
        "",
    )


def _target(name: ClusterName, replicas: int) -> Body:
    return {"name": name, "replicas": replicas} if replicas else {"name": name}


def _is_orphan(work: Body, binding: Body, kept: frozenset[ClusterName]) -> bool:
    labels = mapping(mapping(work, "metadata"), "labels").values()
    return _permanent_id(binding) in labels and _cluster(work) not in kept


def _cluster(work: Body) -> ClusterName:
    namespace = text(mapping(work, "metadata"), "namespace")
    return ClusterName(namespace.removeprefix("karmada-es-"))


def _work(work: Body) -> Body:
    """Return a Work that stays as it was, in the words of the vectors."""
    (manifest,) = cast(list[Body], at(work, "spec", "workload")["manifests"])
    metadata = dict(mapping(work, "metadata"))
    metadata["annotations"] = metadata.get("annotations") or None
    metadata["finalizers"] = metadata.get("finalizers") or None
    return {"work": metadata, "manifest": manifest}


def _path(work: Body) -> str:
    metadata = mapping(work, "metadata")
    return f"{text(metadata, 'namespace')}/{text(metadata, 'name')}"
