"""What the audit asks of a repository: commits, their changes, and the worlds between them.

`shell/` answers; nothing here knows git.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from reconciler.core.own_outputs import OwnOutputs
from reconciler.model.identity import RepositoryLayout
from reconciler.model.moments import parse_moment
from reconciler.model.records import dataclass
from reconciler.model.world import RULES, World

FROM, AT, VERSION = "Reconciled-From", "Reconciled-At", "Reconciler-Version"
FEEDBACK_FROM = "Reconciled-Feedback"
OVER = "Reconciled-Over"
OUTPUTS = "Reconciled-Outputs"
BY_RULES = "Reconciled-Rules"
FIRST_RULES = 1  # those of the commits that do not name theirs
COMMIT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
RULE = re.compile(r"[1-9][0-9]{0,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit.

    `author` is `Name <address>`, `authored_at` and `committed_at` are aware UTC, `trailers` are in
    order, `parents` are full hex ids, in order.
    """

    revision: str
    author: str
    authored_at: datetime
    committed_at: datetime
    subject: str
    trailers: tuple[tuple[str, str], ...]
    parents: tuple[str, ...]

    @property
    def parent(self) -> str | None:
        """The first parent, `None` of a root commit."""
        return self.parents[0] if self.parents else None


class Lineage(Protocol):
    """Commits along first parents, the newest first; each is read when it is asked for."""

    @property
    def revisions(self) -> Sequence[str]:
        """Their full hex ids."""

    def __getitem__(self, position: int, /) -> Commit:
        """Return one of them."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a commit says of itself by its trailers; what cannot be read is `None`.

    `reports` is `""` where none had a branch of their own. `over` is the commit before it where
    up to there waited to be accepted, `""` where none did. `outputs` is the commit that its outputs
    were taken from, `""` where that is the one before it. `rules` are those that it was made by,
    the first ones where it names none.
    """

    inputs: str | None
    at: datetime | None
    version: str | None
    reports: str | None
    over: str
    outputs: str | None
    rules: int | None


class PassRead(NamedTuple):
    """What a pass looked at: its inputs and outputs, its moment, reports of a branch of their own.

    `outputs` is `None` where there were none. `rules` are those that it followed.
    """

    inputs: str
    outputs: str | None
    at: datetime
    reports: str
    rules: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that a commit changed against its first parent.

    `path` is relative to the root, and begins with a slash where it lies outside of the root.
    `before` and `after` are blob ids, `None` for absent. `plain` is false of what a pass never
    writes: executables, symlinks, submodules.
    """

    path: str
    before: str | None
    after: str | None
    plain: bool = True


@dataclass(frozen=True, slots=True)
class UnreadableRevision:
    """Why a world cannot be had, such as a version that is not in this repository."""

    reason: str


class Provable(Protocol):
    """What a proof asks of a history."""

    @property
    def layout(self) -> RepositoryLayout:
        """Where passes write; commits of a branch of outputs name their inputs."""

    def world(
        self, inputs: str, outputs: str | None, /, *, reports: str | None = None
    ) -> World | UnreadableRevision:
        """Return the inputs of one commit with the outputs of another.

        Args:
            inputs: Full hex id of a commit.
            outputs: The same; `None` where there are none.
            reports: The same of those that have a branch of their own, `""` for none; `None` takes
                the commit that the outputs name.
        """

    def changes(self, commit: Commit, /) -> tuple[FileChange, ...]:
        """Return what a commit changed against its first parent, everything for a root commit."""

    def differences(self, old: str, new: str, /) -> tuple[FileChange, ...]:
        """Return what differs between the trees of two commits, below the root."""

    def text(self, blob: str, /) -> str:
        """Return the content of a blob for people to read."""

    def leads_to(self, ancestor: str, revision: str, /) -> bool:
        """Return whether a commit exists and is the other one or one of its ancestors."""


class Revisions(Provable, Protocol):
    """The history of one repository, read-only."""

    def world(
        self,
        inputs: str,
        outputs: str | None,
        /,
        *,
        reports: str | None = None,
        only: OwnOutputs | None = None,
    ) -> World | UnreadableRevision:
        """Return what `Provable.world` does, with some of the outputs; `None` for all."""

    def world_at(
        self, revision: str, /, *, only: OwnOutputs | None = None
    ) -> World | UnreadableRevision:
        """Return the world at a commit of the branch that passes move.

        Args:
            revision: Full hex id of the commit.
            only: The outputs to read, `None` for all.
        """

    def between(self, old: str, new: str, /) -> tuple[Commit, ...]:
        """Return the commits that lead to one and not to an older one, the newest first."""

    def commit_at(self, revision: str, /) -> Commit:
        """Return one commit."""

    def brought(self, commit: Commit, paths: Iterable[str], /) -> tuple[Commit, ...]:
        """Return the newest commits that a merge brought and that changed some files.

        They are in order, the oldest first; there are none where the commit is no merge.
        """


def claim_of(commit: Commit) -> Claim | None:
    """Return what a commit claims; `None` of one that has none of our trailers."""
    keys = (FROM, AT, VERSION, FEEDBACK_FROM, OVER, OUTPUTS, BY_RULES)
    claims = [(key, value) for key, value in commit.trailers if key in keys]
    if not claims:
        return None
    inputs, at, version, reports, over, outputs, rules = (_only(claims, key) for key in keys)
    try:
        moment = None if at is None else parse_moment(at)
    except ValueError:
        moment = None
    named = {key for key, _ in claims}
    reports = _whole(reports) if FEEDBACK_FROM in named else ""
    outputs = _whole(outputs) if OUTPUTS in named else ""
    by = _number(rules) if BY_RULES in named else FIRST_RULES
    return Claim(_whole(inputs), moment, version, reports, over or "", outputs, by)


def pass_of(commit: Commit) -> PassRead | None:
    """Return what a pass says that it looked at, `None` of what cannot be a pass."""
    claim = claim_of(commit)
    if claim is None or claim.inputs is None or claim.at is None:
        return None
    outputs, rules = claim.outputs or commit.parent, claim.rules or RULES
    return PassRead(claim.inputs, outputs, claim.at, claim.reports or "", rules)


def _only(claims: Sequence[tuple[str, str]], wanted: str) -> str | None:
    """Return the value of a trailer that stands exactly once."""
    values = [value for key, value in claims if key == wanted]
    return values[0] if len(values) == 1 else None


def is_by_hand(commit: Commit) -> bool:
    """Return whether a commit is a person's: it does not claim what a pass claims."""
    return pass_of(commit) is None


def _number(value: str | None) -> int | None:
    """Return the value of a trailer that is a positive number, as we write it."""
    return int(value) if value is not None and RULE.fullmatch(value) else None


def _whole(value: str | None) -> str | None:
    """Return the value of a trailer that is the full hex id of a commit."""
    return value if value is not None and COMMIT_ID.fullmatch(value) else None
