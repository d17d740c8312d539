"""What answers for machines share: an object, clusters, a commit, an event, a fault."""

from typing import TYPE_CHECKING

from reconciler.model.moments import format_moment

if TYPE_CHECKING:
    from reconciler.audit.fleet.suspensions import Suspender
    from reconciler.audit.history.decisions import Event
    from reconciler.audit.history.revisions import Commit
    from reconciler.audit.previews.foresight import Coming
    from reconciler.model.decision import Placed
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import Fault


def object_json(key: "ObjectKey") -> dict[str, str]:
    """Return who an object is; the namespace is `""` for kinds without one."""
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name}


def suspender_json(one: "Suspender") -> dict[str, object]:
    """Return what suspends something, and in which file."""
    return {"object": object_json(one.key), "path": one.path}


def placed_json(placed: "Placed | None") -> list[dict[str, object]] | None:
    """Return clusters with their replicas, `None` if unknown."""
    if placed is None:
        return None
    return [{"cluster": str(name), "replicas": replicas} for name, replicas in placed]


def commit_json(commit: "Commit") -> dict[str, object]:
    """Return a commit: its full id, when, by whom, and its first line."""
    return {
        "commit": commit.revision,
        "at": format_moment(commit.committed_at),
        "author": commit.author,
        "title": commit.subject,
    }


def event_json(event: "Event") -> dict[str, object]:
    """Return the commit that mattered to an object, and what brought it about."""
    decision = event.decision
    return {
        **commit_json(event.commit),
        "at": format_moment(event.at),
        "cause": None if decision is None else str(decision.cause),
        "problem": None if decision is None else decision.problem,
        "note": event.note,
        "inputs": [commit_json(cause) for cause in event.causes],
    }


def moved_json(event: "Event") -> dict[str, object]:
    """Return an event with where the object was before, and where it was after."""
    return {
        **event_json(event),
        "before": placed_json(event.before),
        "after": placed_json(event.after),
    }


def coming_json(coming: "Coming") -> dict[str, object]:
    """Return what is coming; `before` and `after` are `None` where nothing moves."""
    return {
        "at": format_moment(coming.at),
        "object": object_json(coming.key),
        "subject": coming.subject,
        "what": coming.what,
        "why": coming.why,
        "before": placed_json(coming.before),
        "after": placed_json(coming.after),
    }


def fault_json(fault: "Fault") -> dict[str, object]:
    """Return what is wrong and where; `line` and `column` are 0 where unknown."""
    return {
        "path": fault.path,
        "line": fault.line,
        "column": fault.column,
        "field": fault.field,
        "rule": fault.rule,
        "message": fault.message,
        "expected": fault.expected,
        "subject": fault.subject,
    }
