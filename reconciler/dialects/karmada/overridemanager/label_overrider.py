"""labelsOverrider and annotationsOverrider: entries of these maps added, replaced or removed."""

from reconciler.errors import UserError
from reconciler.model.content import at
from reconciler.model.fields import mapping, text
from reconciler.model.world import Body


def label_patches(manifest: Body, field: str, overrider: Body) -> list[Body]:
    """Return the JSON patch that changes the `labels` or the `annotations` of a manifest.

    What is not there is neither replaced nor removed. A slash in a key is escaped, a tilde is not.

    Raises:
        UserError: The operator is unknown.

    Source: karmada@f8fdd02 pkg/util/overridemanager/labelannotationoverrider.go
    `applyLabelAnnotationOverriders`.
    """
    operator, values = text(overrider, "operator"), mapping(overrider, "value")
    if operator not in {"add", "remove", "replace"}:
        raise UserError(f"unsupported operator `{operator}` of {field}")
    present = string_map(at(manifest, "metadata").get(field))
    keys = [key for key in sorted(values) if operator == "add" or key in (present or {})]
    patches: list[Body] = []
    if operator == "add" and present is None:
        patches.append({"op": "add", "path": f"/metadata/{field}", "value": {}})
    for key in keys:
        path = f"/metadata/{field}/{key.replace('/', '~1')}"
        patches.append({"op": operator, "path": path, "value": values[key]})
    return patches


def string_map(value: object) -> Body | None:
    """Return a map of texts, `None` for anything else."""
    if isinstance(value, dict) and all(isinstance(one, str) for one in value.values()):
        return value
    return None
