"""What is never delivered: Secrets in the clear, and what has no name that could be a file's."""

from collections.abc import Mapping

from reconciler.delivery.settings import DeliverySettings
from reconciler.dialects.renderer import ClusterWork, NotRendered, Rendered
from reconciler.manifests.identity import Identity, identify
from reconciler.manifests.secrets import is_secret
from reconciler.manifests.text.emitter import Filled
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import KnownKinds
from reconciler.model.records import replace
from reconciler.model.remembered import Same

MARKS = (("metadata", "annotations"), ("metadata", "labels"))


Renamed = Mapping[tuple[ClusterName, ObjectKey], ObjectKey]
"""The identity that overrides gave an object, by the cluster and the object that it stems from."""


def without_refused(
    rendered: Rendered, settings: DeliverySettings, known: KnownKinds
) -> tuple[Rendered, Renamed]:
    """Return what is rendered without what is not delivered, of which clusters then get nothing.

    Returns:
        What is delivered, and what of it has another identity than the object that it stems from.
    """
    judged: dict[object, str | ObjectKey] = {}  # manifests of many clusters are who they are alike
    works: list[ClusterWork] = []
    failed = list(rendered.failed)
    renamed: dict[tuple[ClusterName, ObjectKey], ObjectKey] = {}
    for work in rendered.works:
        refused = ""
        for source, manifest in work.manifests.items():
            who = (source, _who(manifest))
            if who not in judged or (not isinstance(who[1], Same) and is_secret(manifest)):
                judged[who] = _judged(source, manifest, settings, known)
            verdict = judged[who]
            if isinstance(verdict, str):
                refused = refused or verdict
            elif verdict is not source:
                renamed[work.cluster, source] = verdict
        if not refused:
            works.append(work)
        else:
            failed.append(NotRendered(work.cluster, refused))
    if len(works) == len(rendered.works):
        return rendered, renamed
    return replace(rendered, works=tuple(works), failed=tuple(failed)), renamed


def _who(manifest: Body) -> object:
    """Return what the identity of a manifest is read from; a shared document says all of it."""
    if isinstance(manifest, Filled) and all(at[:2] in MARKS for at in manifest.places):
        return Same(manifest.shared)
    metadata = at(manifest, "metadata")
    fields = (manifest.get("apiVersion"), manifest.get("kind"))
    return tuple(map(repr, (*fields, metadata.get("namespace"), metadata.get("name"))))


def _judged(
    source: ObjectKey, manifest: Body, settings: DeliverySettings, known: KnownKinds
) -> str | ObjectKey:
    """Return why a manifest is not delivered, or its identity: `source` itself if it is that."""
    identity = identify(manifest, known, is_item=True)
    if not isinstance(identity, Identity):
        why = "it is no object" if identity is None else identity.message
        return f"{source} is not delivered, since {why} once it is rendered"
    if refused := settings.refusal_of_secret(source, manifest):
        return refused
    namespace = identity.namespace or source.namespace
    key = ObjectKey(identity.group, identity.kind, namespace, identity.name)
    return source if key == source else key
