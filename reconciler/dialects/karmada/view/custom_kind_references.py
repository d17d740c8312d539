"""What is said of custom kinds: scripts that are not executed, replicas that cannot be found."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.karmada.api.custom_kinds import (
    CustomKinds,
    Uncountable,
    VersionedKind,
    replicas_of,
    spelled,
)
from reconciler.dialects.karmada.api.groups import CONFIG_GROUP
from reconciler.dialects.karmada.api.interpreter import is_interpreted
from reconciler.dialects.karmada.api.placement import is_divided
from reconciler.dialects.karmada.api.policies import Policy, Template
from reconciler.dialects.karmada.detector.policy_faults import COUNTED
from reconciler.manifests.references import Dangling, Known
from reconciler.manifests.scope import KUBERNETES
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.message_text import shown
from reconciler.model.world import Manifest

CUSTOMIZATION = "ResourceInterpreterCustomization"
COUNTS = ("replicas", "parallelism")
"""Fields of a spec by which a kind shows that it has replicas."""


def scripts(known: Known, custom: CustomKinds) -> Iterator[Dangling]:
    """Yield each ResourceInterpreterCustomization, which is read as far as it names a kind.

    Not one whose kind has a row of the repository's own: then somebody has thought of it.
    """
    for manifest in known.of_kind(CONFIG_GROUP, CUSTOMIZATION):
        named = _target(manifest)
        if named is not None and custom.is_configured(*named):
            continue
        field, message, expected = "/kind", "its scripts are never executed", "no such manifest"
        if named is not None and _counts(manifest):
            field = "/spec/customizations/replicaResource"
            message = f"its script is never executed; {_found(named, custom)}"
            expected = _row(named)
        yield Dangling(manifest.key, field, "interpreter-script", message, expected)


def scripted_kinds(known: Known) -> frozenset[VersionedKind]:
    """Return the kinds of which a script of the repository says where their replicas are."""
    manifests = known.of_kind(CONFIG_GROUP, CUSTOMIZATION)
    named = (_target(manifest) for manifest in manifests if _counts(manifest))
    return frozenset(kind for kind in named if kind is not None)


def uncountable(
    by_kind: Mapping[tuple[str, str], Mapping[str, tuple[Template, ...]]], custom: CustomKinds
) -> Iterator[Dangling]:
    """Yield the workloads whose replicas are no number where their kind has them."""
    for kind, row in custom.rows.items():
        for templates in by_kind.get(kind, {}).values():
            for template in templates:
                try:
                    replicas_of(row, template.body)
                except Uncountable as error:
                    yield Dangling(
                        template.key, error.field, "workload-replicas", error.message, COUNTED
                    )


def undivided(
    policy: Policy,
    position: int,
    template: Template,
    custom: CustomKinds,
    scripted: frozenset[VersionedKind],
) -> Iterator[Dangling]:
    """Yield a policy that divides a workload whose replicas cannot be found."""
    named = VersionedKind(template.api_version, template.key.kind)
    if (
        template.key[:2] in KUBERNETES
        or is_interpreted(*named, custom)
        or not (named in scripted or _looks_replicated(template.body))
    ):
        return
    yield Dangling(
        policy.key,
        f"/spec/resourceSelectors/{position}",
        "policy-kind-undivided",
        f"{_found(named, custom)}, so {shown(template.key.name)} goes whole to each cluster",
        _row(named),
    )


def divides(policy: Policy) -> bool:
    """Return whether a policy divides replicas among clusters."""
    return is_divided(policy.copied.placement)


def _looks_replicated(body: Body) -> bool:
    """Return whether a workload has a number where many kinds have their replicas."""
    return any(isinstance(at(body, "spec").get(field), int) for field in COUNTS)


def _target(customization: Manifest) -> VersionedKind | None:
    """Return the kind that a customization is for, `None` if it names none; no schema judged it."""
    target = at(customization.body, "spec", "target")
    api_version, kind = target.get("apiVersion"), target.get("kind")
    if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind):
        return None
    return VersionedKind(api_version, kind)


def _counts(customization: Manifest) -> bool:
    """Return whether a script says where the replicas are."""
    return "replicaResource" in at(customization.body, "spec", "customizations")


def _found(named: VersionedKind, custom: CustomKinds) -> str:
    """Return where the replicas of a kind are found."""
    row, kind = custom.row(*named), shown(named.kind)
    if row is not None:
        return f"the replicas of a {kind} are at {spelled(row.replicas)}"
    if is_interpreted(*named, custom):
        return f"a {kind} is read as upstream reads it without the script"
    return f"it is not known where a {kind} has its replicas"


def _row(named: VersionedKind) -> str:
    """Return the row that a kind needs, or that says something else of it."""
    return (
        "where it is not so, a row under spec.karmada.interpreters of reconciler.yaml:"
        f" {{apiVersion: {shown(named.api_version)}, kind: {shown(named.kind)},"
        " specReplicasPath: .spec.replicas,"
        " podTemplatePath: .spec.template}"
    )
