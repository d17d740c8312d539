"""What override policies refer to."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.policies import GROUP, ResourceSelector, decode_selector
from reconciler.dialects.karmada.detector.known_policies import OVERRIDES
from reconciler.dialects.karmada.view.meant_clusters import KnownClusters, doubts_of_affinity
from reconciler.dialects.karmada.view.selected_templates import Templates
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.message_text import shown


def dangling_in_overrides(
    known: Known, templates: Templates, clusters: KnownClusters
) -> Iterator[Dangling]:
    """Yield what override policies are for, and is not there: workloads and clusters."""
    for _, kind in OVERRIDES:
        for manifest in known.of_kind(GROUP, kind):
            spec = mapping(manifest.body, "spec")
            for position, written in enumerate(bodies(spec, "resourceSelectors")):
                selector = decode_selector(written, manifest.key)
                yield from _selected(manifest.key, position, selector, known, templates)
            for pointer, target in _targets(spec):
                yield from doubts_of_affinity(manifest.key, target, pointer, clusters)


def _targets(spec: Body) -> Iterator[tuple[str, Body]]:
    """Yield what names clusters, with its JSON pointer."""
    for position, rule in enumerate(bodies(spec, "overrideRules")):
        target = mapping_or_none(rule, "targetCluster")
        if target is not None:
            yield f"/spec/overrideRules/{position}/targetCluster", target
    target = mapping_or_none(spec, "targetCluster")
    if target is not None:
        yield "/spec/targetCluster", target


def _selected(
    key: ObjectKey, position: int, selector: ResourceSelector, known: Known, templates: Templates
) -> Iterator[Dangling]:
    """Yield a selector that selects no workload."""
    kind = (group_of(selector.api_version), selector.kind)
    found = any(True for _ in templates.matching(key, selector))
    if found or kind in known.unclear or not selector.kind:
        return
    at = f"/spec/resourceSelectors/{position}"
    if selector.name:
        names = templates.names(key, selector)
        message = f"no {selector.kind} {shown(selector.name)} is there to be changed"
        expected = proposal(selector.name, names, selector.kind)
        yield Dangling(key, f"{at}/name", "override-selects-nothing", message, expected)
        return
    message = f"the selector finds no {selector.kind} of this repository"
    yield Dangling(key, at, "override-selects-nothing", message, "workloads that are there")
