"""What a person merges to let held removals go: one line of the configuration, and what it does."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from reconciler.audit.previews.as_markdown import preview_markdown
from reconciler.audit.previews.preview import preview
from reconciler.audit.previews.wording import Heading
from reconciler.manifests.edits.document_edit import update_document
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.settings import CONFIGURATION, CONFIGURATION_PATH
from reconciler.model.versioned import branched
from reconciler.model.world import Manifest, World


def permitted_file(world: World, content: bytes, allowed: str) -> bytes:
    """Return the configuration's file with the line that lets removals go.

    Args:
        world: As the pass found it.
        content: Of the file, `b""` if there is none.
        allowed: The digest.

    Raises:
        ValueError: The file is written in a way that cannot be edited without touching the rest.
    """
    found = _configuration(world)
    if not content or found is None:
        return encode(_with(None, allowed)).encode()
    place = (found.origin.index, found.origin.pointer)
    wanted = {"spec": {"safety": {"allow": allowed}}}
    return update_document(content, CONFIGURATION_PATH, place, {}, wanted)


def permission_text(world: World, allowed: str, now: datetime) -> str:
    """Return in Markdown what letting removals go would move, as a plan has it.

    Args:
        world: As the pass found it.
        allowed: The digest.
        now: Moment at which a pass would run.
    """
    found = preview(world, _permitting(world, allowed), now)
    return preview_markdown(found, Heading("plan", f"letting {allowed} go"))


def _permitting(world: World, allowed: str) -> World:
    """Return the world after the line was merged."""
    found = _configuration(world)
    key = ObjectKey(*CONFIGURATION, "", "main") if found is None else found.key
    origin = Origin(CONFIGURATION_PATH) if found is None else found.origin
    body = _with(None if found is None else found.body, allowed)
    return replace(
        world,
        inputs=branched(world.inputs, {key: Manifest(key, origin, body)}),
        kinds=world.kinds.next(),
        output_kinds=world.output_kinds.next(),
    )


def _configuration(world: World) -> Manifest | None:
    found = world.of_kind(*CONFIGURATION)
    return found[0] if found else None


def _with(body: Body | None, allowed: str) -> Body:
    """Return a configuration with the line."""
    group, kind = CONFIGURATION
    known: Mapping[str, object] = body or {
        "apiVersion": f"{group}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "main"},
    }
    spec = mapping(known, "spec")
    return {**known, "spec": {**spec, "safety": {**mapping(spec, "safety"), "allow": allowed}}}
