"""What documents are held against, and what is wrong with one of them by that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.manifests.identify import Identity
from reconciler.manifests.metadata import refuse_metadata
from reconciler.manifests.schemas.schema import Judged, Schemas
from reconciler.manifests.schemas.violations import Admission, Violation
from reconciler.manifests.text.reader import Document
from reconciler.model.known_kinds import Kind, KnownKinds

ALIAS = "yaml-alias"


@dataclass(frozen=True, slots=True)
class Rules:
    """What documents are held against: schemas, admission by (group, kind), and the known kinds.

    `status_only` is for outputs: they are read as we write them, if they are so, and may lack their
    `spec`, as those beside what people write do.
    """

    schemas: Schemas
    admissions: Mapping[Kind, Admission]
    known: KnownKinds
    status_only: bool = False


def judged_document(document: Document, identity: Identity, rules: Rules) -> Judged:
    """Ask the schema first, then admission; of a workload what we read of it."""
    body = document.body
    if document.aliases and identity.group in rules.known.groups:
        return Judged(body, (_alias(identity),))
    admission = rules.admissions.get((identity.group, identity.kind))
    if not rules.schemas.covers(identity.api_version, identity.kind):
        versions = rules.schemas.versions_of(identity.group, identity.kind)
        if versions:
            return Judged(body, (_unread_version(identity, versions),))
        return Judged(body, refuse_metadata(body) + (admission(body) if admission else ()))
    beside = rules.status_only and (identity.group, identity.kind) not in rules.known.owned
    judged = rules.schemas.judge(body, optional="spec" if beside else "")
    if judged.violations or admission is None:
        return judged
    return Judged(judged.body, admission(judged.body))


def _alias(identity: Identity) -> Violation:
    """Return that an alias stands where none is read."""
    return Violation(
        "",
        ALIAS,
        f"an alias stands in a {identity.kind}, aliases are read in workloads only",
        "the value itself, written out",
    )


def _unread_version(identity: Identity, versions: Iterable[str]) -> Violation:
    """Return that a kind is not read in the version that is written."""
    known = ", ".join(versions)
    return Violation(
        "/apiVersion",
        "schema-version",
        f"`apiVersion` is {identity.api_version}, {identity.kind} is read as {known}",
        known,
    )
