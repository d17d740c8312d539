"""One decision of a history in words: where its object is, who caused it, or that there is none."""

from typing import TYPE_CHECKING

from reconciler.audit.short_id import short_id

if TYPE_CHECKING:
    from reconciler.audit.history.decision_history import Event
    from reconciler.audit.history.revisions import Commit
    from reconciler.library.subject import Subject
    from reconciler.model.decision import Placed


def nothing_said(subject: "Subject", at: str) -> str:
    """Return the line for an object about which nothing was ever decided."""
    from reconciler.audit.named_object import near, spelled
    from reconciler.audit.printable import printable

    world, named = subject.world, subject.named
    known = named in world.inputs or named in world.outputs
    others = "" if known else near(world, named)
    if carriers := subject.carriers():
        others = f"; {carriers} carries it, ask about that"
    return printable(f"nothing was decided about {spelled(named)} in the history of {at}{others}")


def placed_text(placed: "Placed | None") -> str:
    """Return clusters with their replicas, `nowhere` if there are none, `?` if unknown."""
    from reconciler.model import decision

    return "?" if placed is None else decision.placed_text(placed)


def by_whom(event: "Event") -> str:
    """Return whose commit caused it: name, short id and subject."""
    causes = event.causes
    if not causes:
        return "?" if event.decision is None else "time"
    return "; ".join(
        f"{name_of(cause)}: {cause.subject} ({short_id(cause.revision)})" for cause in causes
    )


def name_of(commit: "Commit") -> str:
    """Return the author's name without the address."""
    return commit.author.partition(" <")[0]
