"""An object as it is shown: what people wrote with the status that passes keep beside it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World


def shown_body(world: "World", key: "ObjectKey") -> "Body":
    """Return an object as people wrote it, with the status that is kept beside it."""
    written, ours = world.inputs.get(key), world.outputs.get(key)
    if written is None:
        return ours.body if ours is not None else {}
    if ours is None:
        return written.body
    merged = dict(written.body)
    for field in ("metadata", "status"):
        mine, theirs = ours.body.get(field), written.body.get(field)
        if isinstance(mine, dict):
            merged[field] = {**(theirs if isinstance(theirs, dict) else {}), **mine}
    return merged


def without_secrets(shown: "Mapping[ObjectKey, Body]") -> "dict[ObjectKey, Body]":
    """Hide the values of Secrets, and say so on standard error."""
    from reconciler.manifests import secrets

    kept = {key: secrets.without_secrets(body) for key, body in shown.items()}
    hidden = sum(kept[key] is not body for key, body in shown.items())
    if hidden:
        said = "a Secret are" if hidden == 1 else f"{hidden} Secrets are"
        click.echo(f"the values of {said} hidden; --show-secrets prints them", err=True)
    return kept
