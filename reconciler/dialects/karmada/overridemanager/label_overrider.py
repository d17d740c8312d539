"""labelsOverrider and annotationsOverrider: entries of these maps added, replaced or removed."""

from collections.abc import Sequence

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import mapping, text


def label_patches(field: str, manifest: Body, overriders: Sequence[Body]) -> list[Body]:
    """Return the JSON patch that changes the `labels` or the `annotations` of a manifest.

    What is not there is neither replaced nor removed. A slash in a key is escaped, a tilde is not.

    Raises:
        UserError: An operator is unknown.

    Source: karmada@f8fdd02 pkg/util/overridemanager/labelannotationoverrider.go
    `applyLabelAnnotationOverriders`.
    """
    found = string_map(at(manifest, "metadata").get(field))
    present = None if found is None else set(found)
    patches: list[Body] = []
    for overrider in overriders:
        operator, values = text(overrider, "operator"), mapping(overrider, "value")
        if operator not in {"add", "remove", "replace"}:
            raise UserError(f"unsupported operator `{operator}` of {field}")
        if operator == "add" and present is None:
            patches.append({"op": "add", "path": f"/metadata/{field}", "value": {}})
            present = set()
        for key in sorted(values):
            if operator != "add" and key not in (present or ()):
                continue
            path = f"/metadata/{field}/{key.replace('/', '~1')}"
            patches.append({"op": operator, "path": path, "value": values[key]})
            if present is not None and operator != "replace":
                (present.add if operator == "add" else present.discard)(key)
    return patches


def string_map(value: object) -> Body | None:
    """Return a map of texts, `None` for anything else."""
    if isinstance(value, dict) and all(isinstance(one, str) for one in value.values()):
        return value
    return None
