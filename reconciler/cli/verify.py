"""Proofs of a history: what was computed again, and what was found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.audit.history.revisions import UnreadableRevision
from reconciler.audit.json_shapes import CommitJson, commit_json
from reconciler.audit.proof import Proof, held_to_history
from reconciler.cli.options import cache_folder
from reconciler.cli.printing import print_json
from reconciler.cli.progress import tracked
from reconciler.cli.trust import AskedSignatures, SignatureJson, print_signatures, signatures_json
from reconciler.cli.workers import AskedWorkers
from reconciler.cli.world import is_empty, nothing_in, open_fleet
from reconciler.model.identity import RepositoryLayout
from reconciler.model.text import printable, short_id
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.git.signing import Signature
from reconciler.shell.reading.revisions import GitRevisions
from reconciler.shell.work.proofs import (
    ENOUGH,
    BranchProof,
    open_record,
    prove_branches,
    prove_rest,
)

FEW = 50  # so many commits are proven sooner than a record of them is read
GLYPHS = {"proven": "✔", "adopted": "✔", "reverted": "↶", "other version": "?", "other rules": "?"}
COLOURS = {
    "proven": "green",
    "adopted": "yellow",
    "reverted": "yellow",
    "other version": "yellow",
    "other rules": "yellow",
}
BY_PEOPLE = ("adopted", "input", "reverted", "tampered")
"""States of commits that are no pass's."""


def run(
    directory: Path,
    *,
    span: str | None,
    output: str,
    verbose: bool,
    afresh: bool,
    branch: str | None,
    asked: AskedSignatures,
    workers: AskedWorkers,
    layout: RepositoryLayout,
) -> int:
    """Prove a history; return the exit code."""
    fleet = open_fleet(directory, layout)
    revisions = fleet.revisions
    commits = fleet.commits(span or "HEAD")[::-1]
    signatures = asked.read(revisions.repository, [one.revision for one in commits])
    recorded = not afresh and not revisions.layout.apart and len(commits) >= FEW
    folder = _record_folder() if recorded else None
    prefix = revisions.repository.prefix
    with (
        open_record(folder, prefix=prefix, layout=layout) as record,
        workers.open(sum(record.find(one) is None for one in commits), ENOUGH) as opened,
    ):
        proving = prove_rest(revisions, commits, workers=opened, record=record)
        proven = list(tracked(proving, len(commits), what="Verifying commits"))
    keys = {one.revision: one.key for one in signatures or () if not one.problem}
    proofs = held_to_history(proven, revisions, branch=branch, keys=keys)
    delivered = _delivered(revisions)
    if output == "json":
        print_json(_as_json(proofs, delivered, signatures or ()))
    else:
        _print_all(proofs, delivered, signatures, verbose=verbose)
    if _is_about_nothing(revisions, proofs):
        click.echo(nothing_in(directory), err=True)
        return 1
    unsigned = any(one.problem for one in signatures or ())
    return 1 if unsigned or _is_wrong(proofs, delivered) else 0


def _delivered(revisions: GitRevisions) -> list[BranchProof]:
    """Return proofs of the branches that are delivered to beside the one that is served."""
    head = resolve_revision(revisions.repository, "HEAD")
    world = revisions.world_at(head)
    if isinstance(world, UnreadableRevision):
        return []
    return list(prove_branches(revisions.repository, revisions.loader, world))


def _is_wrong(proofs: Sequence[Proof], delivered: Sequence[BranchProof]) -> bool:
    findings = any(proof.state.is_finding for proof in proofs)
    return findings or any(one.findings for one in delivered)


def _record_folder() -> Path | None:
    """Return where is recorded what was proven, `None` if nothing is kept."""
    folder = cache_folder()
    return None if folder is None else folder / "proofs"


def _is_about_nothing(revisions: GitRevisions, proofs: Sequence[Proof]) -> bool:
    """Return whether there was no pass to prove, and at the end not even a manifest."""
    if not proofs or any(proof.state not in BY_PEOPLE for proof in proofs):
        return False
    last = proofs[-1].commit.revision
    world = revisions.world_at(last)
    return not isinstance(world, UnreadableRevision) and is_empty(world)


def _print_all(
    proofs: Sequence[Proof],
    delivered: Sequence[BranchProof],
    signatures: Sequence[Signature] | None,
    *,
    verbose: bool,
) -> None:
    """Print what is wrong with commits, other branches and signatures, and what is proven."""
    _print(proofs, verbose=verbose)
    _print_delivered(delivered)
    if signatures is not None:
        print_signatures(signatures)


def _print(proofs: Sequence[Proof], *, verbose: bool) -> None:
    """Print what is wrong, then what was proven."""
    for proof in proofs:
        is_told = proof.state.is_finding or proof.state in (
            "other version",
            "other rules",
            "reverted",
        )
        if not is_told and not (verbose and proof.state in ("proven", "adopted")):
            continue
        glyph = GLYPHS.get(proof.state, "✘")
        colour = COLOURS.get(proof.state, "red")
        where = f"{short_id(proof.commit.revision)} {printable(proof.commit.subject)}"
        click.echo(f"{click.style(f'{glyph} {proof.state}', fg=colour)}  {where}")
        for finding in proof.findings:
            place = f"{printable(finding.path)}: " if finding.path else ""
            click.echo(f"    {place}{printable(finding.message)}")
    click.echo(_summary(proofs))


def _summary(proofs: Sequence[Proof]) -> str:
    """Return the last line: how many commits of which state."""
    if not proofs:
        return "no commit in this range"
    counts = Counter(str(proof.state) for proof in proofs)
    inputs = counts.pop("input", 0)
    passes = sum(number for state, number in counts.items() if state not in BY_PEOPLE)
    proven = counts.pop("proven", 0)
    parts = [f"{proven} of {passes} decision commit{'s' if passes != 1 else ''} verified"]
    parts += [f"{number} {state}" for state, number in sorted(counts.items()) if number]
    people = inputs + sum(counts[state] for state in BY_PEOPLE)
    parts.append(f"{people} human commit{'s' if people != 1 else ''}")
    return ", ".join(parts)


def _print_delivered(delivered: Sequence[BranchProof]) -> None:
    """Print what is wrong with other branches, and how many files are as they must be."""
    for delivery in delivered:
        for finding in delivery.findings:
            place = f"{finding.path}: " if finding.path else f"{delivery.branch}: "
            click.echo(f"    {printable(place + finding.message)}")
        if not delivery.commit:
            continue
        count = f"{delivery.files} file{'s' if delivery.files != 1 else ''}"
        said = "differ from" if delivery.findings else "match"
        commit = short_id(delivery.commit)
        click.echo(f"{printable(delivery.branch)}: {count} {said} {commit}")


class DifferenceJson(TypedDict):
    """What is not as it must be."""

    path: Annotated[str, 'File, `""` for none.']
    message: Annotated[str, "What is wrong with it."]


class ProofJson(CommitJson):
    """Whether a commit is as it must be."""

    state: Annotated[str, "Such as `input`, `adopted`, `proven` or `tampered`."]
    findings: Annotated[list[DifferenceJson], "What is not as it must be."]


class VerifyJson(TypedDict):
    """Whether a history is as it must be."""

    proven: Annotated[bool, "Whether everything is as it must be."]
    counts: Annotated[Mapping[str, int], "Commits by state."]
    commits: Annotated[list[ProofJson], "The oldest first."]
    delivered: Annotated[
        list[str],
        "What is not as it must be on other branches that decisions are delivered to.",
    ]
    signatures: Annotated[
        list[SignatureJson],
        "The oldest commit first; empty without `--signatures`.",
    ]


def _as_json(
    proofs: Sequence[Proof], delivered: Sequence[BranchProof], signatures: Sequence[Signature]
) -> VerifyJson:
    """Return all that was found, for machines."""
    return {
        "proven": not _is_wrong(proofs, delivered),
        "counts": dict(sorted(Counter(str(proof.state) for proof in proofs).items())),
        "commits": [
            {
                **commit_json(proof.commit),
                "state": str(proof.state),
                "findings": [{"path": f.path, "message": f.message} for f in proof.findings],
            }
            for proof in proofs
        ],
        "delivered": [
            f"{finding.path or one.branch}: {finding.message}"
            for one in delivered
            for finding in one.findings
        ],
        "signatures": signatures_json(signatures),
    }
