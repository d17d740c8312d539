"""Proofs of passes that say that they belong elsewhere: no computation saves them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.audit.history.revisions import Revisions, claim_of
from reconciler.audit.proofs.adopted_state import adopts
from reconciler.audit.proofs.commit_place import misplacement, place_of, said_purpose
from reconciler.audit.proofs.proof import Proof, ProofState, edited_outputs
from reconciler.audit.proofs.proof_differences import ProofFinding
from reconciler.core.commit_purpose import Purpose


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
            why = "" if claim_of(commit) else f"it was signed for {place_of(said)}, and is no pass"
        yield proof if not why else _finding(proof, why)


def held_to_rules(proofs: Sequence[Proof], revisions: Revisions) -> Iterator[Proof]:
    """Yield proofs, with a finding for each pass by older rules than those of a pass before it.

    What other rules made is not recomputed, so whoever forges a pass would name such rules. Rules
    only go up, so nothing that passes wrote comes to this.

    Args:
        proofs: Of the commits of a history, the oldest first.
        revisions: Where they are.
    """
    newest = 0
    if any(proof.state is ProofState.OTHER_RULES for proof in proofs):
        newest = _rules_before(proofs[0].commit.parent, revisions)
    for proof in proofs:
        claim = claim_of(proof.commit)
        rules = 0 if claim is None or claim.rules is None else claim.rules
        if proof.state is ProofState.OTHER_RULES and rules < newest:
            why = f"made by rules {rules} after a pass by rules {newest}: its trailers are forged"
            yield replace(proof, state=ProofState.FORGED, findings=(ProofFinding("", why),))
            continue
        newest = max(newest, rules)
        yield proof


def held_to_adoptions(proofs: Sequence[Proof], revisions: Revisions) -> Iterator[Proof]:
    """Yield proofs; a merge of a commit that adopts brings the outputs that it adopted."""
    for proof in proofs:
        if proof.state is ProofState.TAMPERED and len(proof.commit.parents) > 1:
            edited = edited_outputs(revisions.changes(proof.commit), revisions.layout)
            brought = revisions.brought(proof.commit, [one.path for one in edited])
            if adopts(brought, edited):
                yield Proof(commit=proof.commit, state=ProofState.ADOPTED)
                continue
        yield proof


def _rules_before(revision: str | None, revisions: Revisions) -> int:
    """Return the rules of the newest pass up to a commit, 0 if there is none."""
    while revision is not None:
        commit = revisions.commit_at(revision)
        claim = claim_of(commit)
        if claim is not None and claim.rules is not None:
            return claim.rules
        revision = commit.parent
    return 0


def _finding(proof: Proof, why: str) -> Proof:
    findings = (ProofFinding("", why), *proof.findings)
    return replace(proof, state=ProofState.FORGED, findings=findings)
