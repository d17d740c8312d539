"""Whether a commit stands where it says that it belongs: one rule for daemons and for `verify`."""

from collections.abc import Sequence

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
        return f"it was signed for {place_of(said)}, not for {branch}"
    if ours and said.purpose is not purpose:
        return f"it was signed for {place_of(said)}, where only {purpose} count"
    return ""


def said_purpose(trailers: Sequence[tuple[str, str]]) -> CommitPurpose | None:
    """Return what a commit says that it is for, `None` if that is not one thing."""
    found = purposes_in(trailers)
    return found[0] if len(found) == 1 else None


def place_of(said: CommitPurpose) -> str:
    """Return in words where a commit belongs."""
    return f"{said.purpose} on {said.branch}"
