"""What an API lets a person approve by a merge."""

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One thing that an object asks a person for, now or later.

    Attributes:
        key: Of what is approved, and of the manifest that approves it.
        stage: Which part of the object it is about.
        is_asked: Whether the object waits for it now.
        is_done: Whether it was approved already.
        manifest: Returns the manifest that approves it, given why in words, and the text of a
            moment.
    """

    key: ObjectKey
    stage: str
    is_asked: bool
    is_done: bool
    manifest: Callable[[str, str], Body]
