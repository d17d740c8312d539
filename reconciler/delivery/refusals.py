"""What is never delivered: Secrets in the clear, and what has no name that could be a file's."""

from collections.abc import Iterator
from dataclasses import replace

from reconciler.delivery.settings import DeliverySettings
from reconciler.dialects.renderer import ClusterWork, NotRendered, Rendered
from reconciler.manifests.filled import Filled
from reconciler.manifests.identify import Identity, identify
from reconciler.model.content import at
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import KnownKinds
from reconciler.model.same import Same
from reconciler.model.world import Body

ANNOTATIONS = ("metadata", "annotations")
SECRET = "Secret"  # noqa: S105  # the kind


def without_refused(rendered: Rendered, settings: DeliverySettings, known: KnownKinds) -> Rendered:
    """Return what is rendered without what is not delivered, of which clusters then get nothing."""
    judged: dict[object, str | None] = {}  # manifests of many clusters are who they are alike
    works: list[ClusterWork] = []
    failed = list(rendered.failed)
    for work in rendered.works:
        refused = None
        for source, manifest in work.manifests.items():
            who = _who(manifest)
            if who not in judged or (not isinstance(who, Same) and manifest.get("kind") == SECRET):
                judged[who] = next(_refused(source, manifest, settings, known), None)
            refused = refused or judged[who]
        if refused is None:
            works.append(work)
        else:
            failed.append(NotRendered(work.cluster, refused))
    if len(works) == len(rendered.works):
        return rendered
    return replace(rendered, works=tuple(works), failed=tuple(failed))


def _who(manifest: Body) -> object:
    """Return what the identity of a manifest is read from; a shared document says all of it."""
    if isinstance(manifest, Filled) and manifest.place[:2] == ANNOTATIONS:
        return Same(manifest.shared)
    metadata = at(manifest, "metadata")
    fields = (manifest.get("apiVersion"), manifest.get("kind"))
    return tuple(map(repr, (*fields, metadata.get("namespace"), metadata.get("name"))))


def _refused(
    source: ObjectKey, manifest: Body, settings: DeliverySettings, known: KnownKinds
) -> Iterator[str]:
    """Yield why a manifest is not delivered."""
    found = identify(manifest, known, is_item=True)
    if not isinstance(found, Identity):
        why = "it is no object" if found is None else found.message
        yield f"{source} is not delivered, since {why} once it is rendered"
    if is_plain_secret(manifest):
        yield f"{source} is a Secret in the clear, which is not delivered"
    elif manifest.get("kind") == SECRET and not settings.encrypted_secrets:
        yield (
            f"{source} is a Secret, which is only delivered encrypted and where the configuration "
            "says `delivery.secrets: encrypted`"
        )


def is_plain_secret(manifest: Body) -> bool:
    """Return whether a manifest is a Secret whose values can be read.

    SOPS leaves its mark beside the data, and encrypts every value.
    """
    if (manifest.get("apiVersion"), manifest.get("kind")) != ("v1", SECRET):
        return False
    values = [*at(manifest, "data").values(), *at(manifest, "stringData").values()]
    marked = bool(at(manifest, "sops").get("mac"))
    return not marked or not all(str(value).startswith("ENC[") for value in values)
