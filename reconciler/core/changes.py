"""The answer of a pass: files to write or delete, decisions, faults, and when to look again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.model.decision import Decision
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Replace the file at `path` (root-relative POSIX) by `content`, UTF-8."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Remove the file at `path` (root-relative POSIX)."""

    path: str


Change = WriteFile | DeleteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of `reconcile`.

    Attributes:
        changes: Sorted by path, at most one entry a path; empty means settled.
        decisions: What moved and why, and what could not be placed, sorted by key.
        edited: Outputs whose decision a person edited since the last pass, sorted.
        faults: What a person must edit, sorted.
        recheck_at: The next moment, aware UTC, at which time alone could change the answer;
            `None` if no such moment is known.
        explanations: What scheduling said of the objects that were asked about, where it first
            looked at them in this pass.
    """

    changes: tuple[Change, ...] = ()
    decisions: tuple[Decision, ...] = ()
    edited: tuple[ObjectKey, ...] = ()
    faults: tuple[Fault, ...] = ()
    recheck_at: datetime | None = None
    explanations: Mapping[ObjectKey, Explain] = field(default_factory=dict)
