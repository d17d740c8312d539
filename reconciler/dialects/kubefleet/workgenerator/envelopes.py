"""Envelopes: objects that a cluster gets and that do nothing in the repository itself."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.gojson import go_json, sorted_keys
from reconciler.dialects.kubefleet.overrider.matching import IsNamespaced, target_of
from reconciler.dialects.kubefleet.overrider.override import OverrideTarget
from reconciler.dialects.kubefleet.snapshots.propagated_resources import ENVELOPES
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.content import at, mapping_of
from reconciler.model.fields import text
from reconciler.model.identity import group_of


def is_envelope(manifest: Body) -> bool:
    """Return whether an object is an envelope."""
    return (group_of(text(manifest, "apiVersion")), text(manifest, "kind")) in ENVELOPES


def contents(envelope: Body) -> list[Body]:
    """Return the objects in an envelope, sorted by their JSON, the greatest first.

    Whether an object has a namespace counts, not the scope of its kind.

    Raises:
        UserError: One of them has a namespace and must not, has none, or has another one.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/envelope.go
    `extractManifestsFromEnvelopeCR`; the sentences about an envelope of a namespace are those of
    the same function in kubefleet@2ef5748, and no vector of e160c1c holds them.
    """
    own = target_of(envelope)
    found: list[Body] = []
    for name, value in sorted(at(envelope, "data").items()):
        manifest = mapping_of(value)
        target = target_of(manifest)
        named = f"{name} ({_reference(target)})"
        if not own.namespace and target.namespace:
            wrong = f"a namespaced object {named} has been wrapped in a cluster resource envelope"
            raise UserError(f"{wrong} {own.name}")
        if own.namespace and not target.namespace:
            wrong = f"a cluster scope object {named} has been wrapped in a resource envelope"
            raise UserError(f"{wrong} {_reference(own)}")
        if target.namespace != own.namespace:
            wrong = f"a namespaced object {named} in has been wrapped in a resource envelope"
            raise UserError(f"{wrong} from another namespace ({_reference(own)})")
        found.append(manifest)
    return sorted(found, key=lambda one: go_json(sorted_keys(one)), reverse=True)


def _reference(target: OverrideTarget) -> str:
    return f"{target.namespace}/{target.name}" if target.namespace else target.name


def targets_of(manifest: Body, is_namespaced: IsNamespaced) -> Iterator[OverrideTarget]:
    """Yield what overrides can change of an object: itself, or what is in an envelope.

    Of an envelope in a namespace that is the Namespace, too.

    Source: kubefleet@e160c1c pkg/utils/overrider/overrider.go `collectAllOverrideTargets`.
    """
    own = target_of(manifest)
    if not is_envelope(manifest):
        yield own
        return
    if own.namespace:
        yield OverrideTarget("", "v1", "Namespace", "", own.namespace)
    for value in at(manifest, "data").values():
        target = target_of(mapping_of(value))
        fits = target.namespace == own.namespace or not own.namespace
        if is_namespaced(target) == bool(own.namespace) and fits:
            yield target
