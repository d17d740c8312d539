"""Whether a commit stands where it says that it belongs: one rule for daemons and for `verify`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.audit.proof import Proof, ProofState
from reconciler.audit.proof_differences import ProofFinding
from reconciler.audit.revisions import claim_of
from reconciler.core.commit_purpose import FOR, CommitPurpose, Purpose, purposes_in

UNSAID = "the daemon's key has signed it, and it does not say what for"
MANY = f"it has not one {FOR} that can be read"


def misplacement(
    trailers: Sequence[tuple[str, str]], *, branch: str, purpose: Purpose, ours: bool
) -> str:
    """Return why a commit does not count on a branch although its signature is good, `""` if so.

    What it says can only stop it. A person's commit need not say anything; one that does, such as
    one of another daemon, must name the branch.

    Args:
        trailers: Of the commit.
        branch: Where it stands.
        purpose: What commits of ours do on that branch.
        ours: Whether the daemon's own key signed it.
    """
    found = purposes_in(trailers)
    if not found:
        return UNSAID if ours else ""
    said = found[0]
    if said is None or len(found) > 1:
        return MANY
    if said.branch != branch:
        return f"it was signed for {_place(said)}, not for {branch}"
    if ours and said.purpose is not purpose:
        return f"it was signed for {_place(said)}, where only {purpose} count"
    return ""


def said_purpose(trailers: Sequence[tuple[str, str]]) -> CommitPurpose | None:
    """Return what a commit says that it is for, `None` if that is not one thing."""
    found = purposes_in(trailers)
    return found[0] if len(found) == 1 else None


def held_to_places(
    proofs: Sequence[Proof], *, branch: str | None, keys: Mapping[str, str]
) -> Iterator[Proof]:
    """Yield proofs, with a finding for each commit that says that it belongs elsewhere.

    Args:
        proofs: Of the commits of a history, the oldest first.
        branch: Whose history it is, `None` if that is not known: then any branch will do.
        keys: Commit to the key that signed it; a key that has signed decisions is the daemon's.
    """
    daemons: set[str] = set()
    for proof in proofs:
        commit = proof.commit
        said, key = said_purpose(commit.trailers), keys.get(commit.revision, "")
        here = said.branch if branch is None and said is not None else branch or ""
        ours = key in daemons
        why = misplacement(commit.trailers, branch=here, purpose=Purpose.DECISIONS, ours=ours)
        if not why and said is not None and said.purpose is Purpose.DECISIONS:
            daemons.update(filter(None, (key,)))
            why = "" if claim_of(commit) else f"it was signed for {_place(said)}, and is no pass"
        yield proof if not why else _finding(proof, why)


def _finding(proof: Proof, why: str) -> Proof:
    findings = (ProofFinding("", why), *proof.findings)
    return replace(proof, state=ProofState.FORGED, findings=findings)


def _place(said: CommitPurpose) -> str:
    return f"{said.purpose} on {said.branch}"
