"""What is never delivered: Secrets in the clear, and what has no name that could be a file's."""

from collections.abc import Iterator

from reconciler.delivery.settings import DeliverySettings
from reconciler.dialects.renderer import ClusterWork, NotRendered, Rendered
from reconciler.manifests.identify import Identity, identify
from reconciler.model.content import at
from reconciler.model.fields import text
from reconciler.model.known_kinds import KnownKinds
from reconciler.model.world import Body


def without_refused(rendered: Rendered, settings: DeliverySettings, known: KnownKinds) -> Rendered:
    """Return what is rendered without what is not delivered, of which clusters then get nothing."""
    works: list[ClusterWork] = []
    failed = list(rendered.failed)
    for work in rendered.works:
        refused = next(_refused(work, settings, known), None)
        if refused is None:
            works.append(work)
        else:
            failed.append(NotRendered(work.cluster, refused))
    if len(works) == len(rendered.works):
        return rendered
    return Rendered(
        path=rendered.path,
        works=tuple(works),
        failed=tuple(failed),
        kept=rendered.kept,
        placed=rendered.placed,
        warnings=rendered.warnings,
    )


def _refused(work: ClusterWork, settings: DeliverySettings, known: KnownKinds) -> Iterator[str]:
    """Yield why a Work is not delivered."""
    for source, manifest in work.manifests.items():
        found = identify(manifest, known, is_item=True)
        if not isinstance(found, Identity):
            why = "it is no object" if found is None else found.message
            yield f"{source} is not delivered, since {why} once it is rendered"
        if is_plain_secret(manifest):
            yield f"{source} is a Secret in the clear, which is not delivered"
        elif text(manifest, "kind") == "Secret" and not settings.encrypted_secrets:
            yield (
                f"{source} is a Secret, which is only delivered encrypted and where the "
                "configuration says `delivery.secrets: encrypted`"
            )


def is_plain_secret(manifest: Body) -> bool:
    """Return whether a manifest is a Secret whose values can be read.

    SOPS leaves its mark beside the data, and encrypts every value.
    """
    if (manifest.get("apiVersion"), manifest.get("kind")) != ("v1", "Secret"):
        return False
    values = [*at(manifest, "data").values(), *at(manifest, "stringData").values()]
    marked = bool(at(manifest, "sops").get("mac"))
    return not marked or not all(str(value).startswith("ENC[") for value in values)
