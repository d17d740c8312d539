"""A placement before it is decided, with its files so far."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.dialects.ocm.placement import Placement
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A placement and its files so far.

    Attributes:
        manifest: As written.
        placement: Decoded.
        status_file: `None` before the first pass.
        decisions: Those that can be read.
        frozen: Whether one of its files cannot be read, so that all are left as they are.
    """

    manifest: Manifest
    placement: Placement
    status_file: Body | None
    decisions: Mapping[ObjectKey, Body]
    frozen: bool = False
