"""What answers for machines share: an object, clusters, a commit, an event, a fault.

An answer is a typed mapping: what prints it builds one, mypy holds the two together, and the tables
of docs/json.md are made of the fields and of what is said of each. The types of an answer stand in
the file that prints it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypedDict, overload

from reconciler.model.moments import format_moment

if TYPE_CHECKING:
    from reconciler.audit.fleet.suspensions import Suspender
    from reconciler.audit.history.decisions import Event
    from reconciler.audit.history.revisions import Commit
    from reconciler.audit.previews.foresight import Coming
    from reconciler.model.decision import Placed
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import Fault


IS_MOMENT = "moment"
Moment: TypeAlias = Annotated[str, IS_MOMENT]
"""A text as of RFC 3339, in UTC."""

Amounts: TypeAlias = Mapping[str, float]


class ObjectJson(TypedDict):
    """What a manifest or an output is, as the API server would know it."""

    group: Annotated[str, '`""` for the core group.']
    kind: Annotated[str, "As upstream spells it."]
    namespace: Annotated[str, '`""` for kinds without one.']
    name: str


def object_json(key: "ObjectKey") -> ObjectJson:
    """Return who an object is; the namespace is `""` for kinds without one."""
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name}


class SuspenderJson(TypedDict):
    """What suspends something."""

    object: Annotated[ObjectJson, "What suspends: itself, a policy, or the configuration."]
    path: Annotated[str, "The file that says so."]


def suspender_json(suspender: "Suspender") -> SuspenderJson:
    """Return what suspends something, and in which file."""
    return {"object": object_json(suspender.key), "path": suspender.path}


class PlacementJson(TypedDict):
    """An object's part of one cluster."""

    cluster: Annotated[str, "Its name."]
    replicas: Annotated[int, "0 where there are none to count."]


@overload
def placed_json(placed: "Placed") -> list[PlacementJson]: ...


@overload
def placed_json(placed: "Placed | None") -> list[PlacementJson] | None: ...


def placed_json(placed: "Placed | None") -> list[PlacementJson] | None:
    """Return clusters with their replicas, `None` if unknown."""
    if placed is None:
        return None
    return [{"cluster": str(name), "replicas": replicas} for name, replicas in placed]


class CommitJson(TypedDict):
    """A commit."""

    commit: Annotated[str, "Full hex id."]
    at: Annotated[Moment, "When it was made; of a pass, its moment."]
    author: Annotated[str, "`Name <address>`."]
    title: Annotated[str, "First line of its message."]


def commit_json(commit: "Commit") -> CommitJson:
    """Return a commit: its full id, when, by whom, and its first line."""
    return {
        "commit": commit.revision,
        "at": format_moment(commit.committed_at),
        "author": commit.author,
        "title": commit.subject,
    }


class CausedJson(CommitJson):
    """The commit that mattered to an object, and what brought it about."""

    cause: Annotated[
        str | None,
        "Why the pass moved it; `null` where a person edited the output, or the pass cannot be "
        "computed again.",
    ]
    problem: Annotated[str | None, 'Why it is not placed as asked, `""` if it is; `null` as above.']
    note: Annotated[str, "What must be said besides, such as `edited by hand`."]
    inputs: Annotated[
        list[CommitJson],
        "Commits of people that caused it, the oldest first; empty where time alone did.",
    ]


def event_json(event: "Event") -> CausedJson:
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


class DecisionJson(CausedJson):
    """A commit that mattered to an object, by a pass or by a person's hand."""

    before: Annotated[list[PlacementJson] | None, "Where it was; `null` if unknown."]
    after: Annotated[list[PlacementJson] | None, "Where it was then; `null` if unknown."]


def moved_json(event: "Event") -> DecisionJson:
    """Return an event with where the object was before, and where it was after."""
    return {
        **event_json(event),
        "before": placed_json(event.before),
        "after": placed_json(event.after),
    }


class ComingJson(TypedDict):
    """Something that a pass will do without further commits, as time passes."""

    at: Annotated[Moment, "When; one that is over says that no pass has run since."]
    object: Annotated[ObjectJson, "What decisions about it bear, or a rebalancer."]
    subject: Annotated[str, "The object as people call it."]
    what: Annotated[str, "What happens then."]
    why: Annotated[str, "What is waited for, or the cause."]
    before: Annotated[
        list[PlacementJson] | None,
        "Where it is until then; `null` if it does not move.",
    ]
    after: Annotated[
        list[PlacementJson] | None,
        "Where it is from then on, as of now; `null` if it does not move.",
    ]


def coming_json(coming: "Coming") -> ComingJson:
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


class FaultJson(TypedDict):
    """What is wrong, and where."""

    path: Annotated[str, "File, below the root."]
    line: Annotated[int, "From 1; 0 where unknown."]
    column: Annotated[int, "From 1; 0 where unknown."]
    field: Annotated[str, 'JSON pointer; `""` for the whole document.']
    rule: Annotated[str, "Of [docs/rules](rules)."]
    message: Annotated[str, "What is wrong."]
    expected: Annotated[str, 'What would be right, `""` if there is nothing to add.']
    subject: Annotated[str, 'The object, `""` if the document does not say.']


def fault_json(fault: "Fault") -> FaultJson:
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
