"""What `reconciler why` prints: an explanation in words, or as JSON, or that there is none."""

import difflib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.audit.fleet.copy_counts import CopyJson, copy_json
from reconciler.audit.json_shapes import (
    ComingJson,
    DecisionJson,
    FaultJson,
    ObjectJson,
    PlacementJson,
    SuspenderJson,
    coming_json,
    fault_json,
    moved_json,
    object_json,
    placed_json,
    suspender_json,
)
from reconciler.audit.named_object import near, spelled
from reconciler.audit.previews.resumption import Suspension
from reconciler.audit.reasons import Why, against
from reconciler.cli.printing import coming_lines, fault_line, print_json, versioned
from reconciler.cli.progress import PASSES, doing
from reconciler.cli.selection import AskedObject, open_subject
from reconciler.cli.tables import copies_lines, table_lines
from reconciler.cli.world import by_whom, name_of, placed_text
from reconciler.errors import UsageError
from reconciler.library.subject import Subject
from reconciler.manifests.text.emitter import encode
from reconciler.model.decision import (
    ClusterAnswer,
    ClusterVerdict,
    Decision,
    Explanation,
    ScorePart,
)
from reconciler.model.moments import format_moment
from reconciler.model.text import enumerated, printable, short_id, shown
from reconciler.shell.resources import SystemClock


def run(directory: Path, asked: AskedObject, cluster: str | None) -> int:
    """Print why an object is on its clusters; return the exit code."""
    subject = open_subject(directory, asked)
    with doing(PASSES):
        why = subject.why(SystemClock().now())
    if why.explanation is None:
        _print(asked.output, why, None)
        click.echo(_unanswered(subject, why), err=True)
        return 1
    _check_cluster(why, cluster)
    if asked.output == "text":
        click.echo(why_text(why, cluster))
    _print(asked.output, why, cluster)
    return 0


def _print(output: str, why: Why, cluster: str | None) -> None:
    """Print the answer for machines, if that is asked for."""
    if output == "json":
        print_json(why_json(why, cluster))
    elif output == "yaml":
        click.echo(encode(versioned(why_json(why, cluster))), nl=False)


def _check_cluster(why: Why, cluster: str | None) -> None:
    """Refuse a cluster that nothing is said of."""
    clusters = [item.clusters for item in (why.then, why.now) if item is not None]
    names = sorted(
        {str(answer.cluster) for answers in clusters for answer in answers}
        | {str(name) for name, _ in why.placed}
    )
    if cluster is None or cluster in names:
        return
    alike = difflib.get_close_matches(cluster, names, n=3) or names[:3]
    known = f"; near it: {', '.join(alike)}" if alike else ", since none were considered"
    raise UsageError(f"there is no cluster {shown(cluster)} here{known}")


def _unanswered(subject: Subject, why: Why) -> str:
    """Return why there is nothing to explain, and what to do."""
    world, named, event = subject.world, subject.named, why.event
    if why.key not in world.outputs and event is not None:
        short = short_id(event.commit.revision)
        where = "nowhere" if event.after is not None else "at an unknown place"
        return printable(
            f"{spelled(named)} is {where} since {short} ({event.why}; "
            f"{by_whom(event)}); it was {placed_text(event.before)}: "
            f"reconciler why {subject.word} --at {short}~1"
        )
    if named not in world.inputs and named not in world.outputs:
        return printable(f"there is no {spelled(named)}{near(world, named)}")
    if why.key in world.outputs:
        put = ""
        if event is not None and event.by_hand:
            put = f"was put on {placed_text(why.placed)} by {by_whom(event)}; it "
        return printable(
            f"{spelled(named)} {put}cannot be explained now: passes are suspended, or its output "
            "is unreadable; see reconciler validate"
        )
    if carriers := subject.carriers():
        return printable(
            f"there is no separate decision on {spelled(named)}: {carriers} carries it, "
            "ask about that instead"
        )
    return printable(
        f"there is no decision on {spelled(named)}: no policy matches it, "
        "or no pass has run; see reconciler get pp -A, reconciler reconcile --dry-run"
    )


MOST_ROWS = 30  # of clusters that were filtered out; -o json has all
MOST_NAMES = 8
UNASKED = "not considered by scheduling"


def why_text(why: Why, cluster: str | None) -> str:
    """Return the answer for people; with `cluster` what concerns that cluster only."""
    explanation = why.explanation
    if explanation is None:
        raise ValueError("there is nothing to tell")
    blocks = [_head(why, explanation)]
    if cluster is None:
        blocks += [_table(why, explanation), _reasons(explanation.clusters), _steps(explanation)]
    else:
        asked = (one for one in explanation.clusters if one.cluster == cluster)
        lines = [line for one in asked for line in _detail(why, one)]
        blocks.append(lines or [f"{printable(cluster)}: {UNASKED}"])
    blocks.append(_rollout(why))
    blocks += [_since(why, cluster), copies_lines(why.copies, cluster), coming_lines(why.later)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _rollout(why: Why) -> list[str]:
    """Return how far the object is rolled out by now, as far as anything but time does that."""
    decided = why.now or why.then
    lines = () if decided is None else decided.rollout
    return ["Rollout:", *(f"  {printable(line)}" for line in lines)] if lines else []


def _head(why: Why, told: Explanation) -> list[str]:
    """Return what is where, what was asked, how it ended, who decided."""
    unknown = why.event is not None and why.event.after is None
    where = placed_text(None if unknown else why.placed)
    title = f"{told.subject} is {'on ' if unknown or why.placed else ''}{where}"
    facts: dict[str, str] = {}
    if why.suspension is not None:
        facts = {"suspended": why.suspension.words, "resumed": why.suspension.resumed}
    facts |= {"asked": why.question, "result": told.result, **_origin(why)}
    if why.note:
        facts["note"] = why.note
    if why.faults:
        facts["faults"] = "; ".join(map(fault_line, why.faults))
    width = max(map(len, facts))
    lines = [f"  {name.ljust(width)}  {printable(text)}" for name, text in facts.items() if text]
    return [click.style(printable(title), bold=True), *lines]


def _origin(why: Why) -> dict[str, str]:
    """Return who put the object where it is; after an edit also what becomes of that."""
    event = why.event
    if event is None:
        return {"decided": "unknown; this is what scheduling would decide now"}
    when, commit = format_moment(event.at), short_id(event.commit.revision)
    before = placed_text(event.before)
    if event.decision is not None:
        return {
            "decided": f"{when} in {commit}: {event.decision.cause}; it was {before}",
            "because": by_whom(event),
            "problem": event.decision.problem,
        }
    editor = event.causes[0]
    where = f"{short_id(editor.revision)} ({editor.subject})"
    who = f"by an edit of {name_of(editor)} in {where}"
    if editor != event.commit:
        who += f", merged by {name_of(event.commit)} in {commit}"
    return {"placed": f"{when} {who}; it was {before}", "next": _next(why)}


def _next(why: Why) -> str:
    """Return what the next pass makes of a person's edit."""
    if why.now is None:
        return "passes are suspended, so it stays there"
    if why.coming is None:
        return "the next pass keeps it there"
    before, after = why.coming.before, why.coming.after
    verb = "moves it to" if before and after else "places it on" if after else "takes it off"
    return f"the next pass {verb} {placed_text(after or before)}: {why.coming.cause}"


def _table(why: Why, told: Explanation) -> list[str]:
    """Return the clusters: chosen ones first, then by rank, those filtered out last."""
    if not told.clusters:
        return ["No clusters were considered."]
    ordered = sorted(told.clusters, key=_order)
    away = [item for item in ordered if item.verdicts and not item.picked]
    shown = [item for item in ordered if item not in away] + away[:MOST_ROWS]
    titles = ["CLUSTER", "VERDICT", "SCORE", "REPLICAS", "NOTE"]
    rows = [_row(why, item) for item in shown]
    asked = {item.cluster for item in told.clusters}
    rows += [
        [str(name), "is there", "-", str(count or "-"), UNASKED]
        for name, count in why.placed
        if name not in asked
    ]
    lines = table_lines(titles, rows)
    if why.then is None:
        lines.insert(0, "If scheduled from scratch:")
    if len(away) > MOST_ROWS:
        lines.append(f"and {len(away) - MOST_ROWS} more that are filtered out")
    return lines


def _order(item: ClusterAnswer) -> tuple[bool, bool, int, str]:
    """Sort chosen clusters first, then those that pass, then the others."""
    return not item.picked, bool(item.verdicts), item.rank or 0, item.cluster


def _row(why: Why, item: ClusterAnswer) -> list[str]:
    """Return one cluster; of one that is filtered out the note names the filters."""
    filters = ", ".join(verdict.plugin or "deletion" for verdict in item.verdicts)
    note = "; ".join(filter(None, (item.note, filters)))
    replicas = "-" if item.replicas is None else str(item.replicas)
    return [str(item.cluster), _verdict(why, item), _score(item), replicas, note or "-"]


def _verdict(why: Why, item: ClusterAnswer) -> str:
    """Return what became of a cluster, with its rank; what no pass decided is a might-be.

    An object can be on a cluster that scheduling does not choose: a person put it there, or nothing
    has asked for scheduling since.
    """
    rank = f" #{item.rank}" if item.rank is not None else ""
    decided = why.then is not None
    if item.picked:
        verdict = f"{'' if decided else 'would be '}chosen{rank}"
    elif item.verdicts:
        verdict = f"{'' if decided else 'would be '}filtered out"
    else:
        verdict = f"passes{rank}" if decided else f"would pass{rank}"
    is_there = any(name == item.cluster for name, _ in why.placed)
    return f"is there, {verdict}" if is_there and not item.picked else verdict


def _score(item: ClusterAnswer) -> str:
    """Return the score and its parts; where no total counts the parts only."""
    parts = " + " if item.total is not None else ", "
    text = parts.join(map(_part, item.scores))
    if item.total is None:
        return text or "-"
    return f"{item.total} = {text}" if text else str(item.total)


def _part(part: ScorePart) -> str:
    """Return one part; a weight of 1 goes without saying."""
    return str(part) if part.weight != 1 else f"{part.plugin} {part.score}"


def _reasons(clusters: Sequence[ClusterAnswer]) -> list[str]:
    """Return every reason against the clusters; alike clusters stand together."""
    alike: dict[tuple[str, tuple[ClusterVerdict, ...]], list[str]] = defaultdict(list)
    for group in clusters:
        if group.verdicts:
            alike[group.down, group.verdicts].append(str(group.cluster))
    lines = []
    for (down, verdicts), names in sorted(alike.items(), key=lambda pair: pair[1]):
        lines.append(f"Why not {printable(enumerated(names, MOST_NAMES))}:")
        lines += _down(down)
        lines += _against(verdicts)
    return lines


def _down(down: str) -> list[str]:
    """Return that a cluster is down, which comes before what follows from it."""
    return [f"  it {printable(down)}"] if down else []


def _against(verdicts: Sequence[ClusterVerdict]) -> Iterator[str]:
    """Yield each reason with what would have to change."""
    for verdict in verdicts:
        yield f"  {printable(against(verdict))}"
        if verdict.remedy:
            yield f"    to qualify: {printable(verdict.remedy)}"


def _steps(told: Explanation) -> list[str]:
    """Return the steps, numbered."""
    if not told.steps:
        return []
    return ["Steps:", *(f"  {i}. {printable(step)}" for i, step in enumerate(told.steps, start=1))]


def _detail(why: Why, item: ClusterAnswer) -> list[str]:
    """Return all about one cluster."""
    lines = [f"{printable(item.cluster)}: {_verdict(why, item)}"]
    if item.replicas is not None:
        lines.append(f"  replicas: {item.replicas}")
    if item.scores or item.total is not None:
        lines.append(f"  score: {printable(_score(item))}")
    if item.note:
        lines.append(f"  note: {printable(item.note)}")
    return [*lines, *_down(item.down), *_against(item.verdicts)]


def _since(why: Why, cluster: str | None) -> list[str]:
    """Return what scheduling would say otherwise today."""
    shifts = [shift for shift in why.shifts if cluster in (None, shift.cluster)]
    if why.then is None:
        return []
    if why.suspension is not None:
        return ["Now: not scheduled, because it is suspended."]
    if why.now is None:
        return ["Now: not scheduled; passes are suspended, or it was removed."]
    if not why.now.judged:
        return [f"Now: {printable(why.now.result.removesuffix('.'))}."]
    if not shifts:
        return ["Now: nothing would be different."]
    lines = [f"  {printable(shift.cluster)} {printable(shift.message)}" for shift in shifts]
    return ["Now, different from then:", *lines]


class ShiftJson(TypedDict):
    """A cluster that would be answered otherwise."""

    cluster: Annotated[str, "Its name."]
    message: Annotated[str, "What is otherwise today."]


class NextJson(TypedDict):
    """What the next pass makes of it."""

    cause: Annotated[str, "Why."]
    before: Annotated[list[PlacementJson] | None, "Where it is."]
    after: Annotated[list[PlacementJson] | None, "Where it will be."]


class SuspensionJson(TypedDict):
    """What suspends an object."""

    by: Annotated[list[SuspenderJson], "The files that say so, the nearest first."]
    question: Annotated[
        str,
        'What its files ask for today, which is held until it is resumed; `""` where others '
        "have a say.",
    ]
    next: Annotated[NextJson | None, "What the next pass would move if it were resumed."]


class ScoreJson(TypedDict):
    """What a plugin scores."""

    plugin: Annotated[str, "As upstream calls it."]
    score: int
    weight: int


class RejectionJson(TypedDict):
    """Why a plugin turned a cluster away."""

    plugin: Annotated[str, "As upstream calls it."]
    reason: Annotated[str, "In upstream's words."]
    remedy: Annotated[str, "What would have to change."]


class AnswerJson(TypedDict):
    """What was decided about a cluster."""

    cluster: Annotated[str, "Its name."]
    picked: Annotated[bool, "Whether it was chosen."]
    rank: Annotated[int | None, "From 1, of those that passed the filters."]
    total: Annotated[int | None, "Sum of its scores."]
    scores: list[ScoreJson]
    replicas: Annotated[int | None, "Its share; `null` if it was not chosen."]
    note: Annotated[str, 'What else decided, `""` for nothing.']
    down: Annotated[
        str,
        'What is wrong with the cluster itself, in its own words; `""` for nothing.',
    ]
    rejections: Annotated[list[RejectionJson], "Each rule that turned it away."]


class ExplanationJson(TypedDict):
    """Why an object is decided so."""

    subject: Annotated[str, "The object as people call it."]
    question: Annotated[str, "What was asked for."]
    result: Annotated[str, "In upstream's words."]
    clusters: Annotated[list[AnswerJson], "Each that was asked, or the one that was named."]
    steps: Annotated[list[str], "What was done, in order."]
    rollout: Annotated[
        list[str],
        "How far it is rolled out and what that waits for, where anything but time does that.",
    ]


class WhyJson(TypedDict):
    """Why an object is where it is."""

    object: Annotated[ObjectJson, "What decisions about it bear: of a workload its binding."]
    placed: Annotated[list[PlacementJson], "Where it is."]
    decided: Annotated[
        DecisionJson | None,
        "The pass that put it there; `null` if a person edited what it wrote.",
    ]
    edited: Annotated[DecisionJson | None, "A person's edit that came later."]
    next: Annotated[NextJson | None, "What the next pass makes of an edit."]
    then: Annotated[ExplanationJson | None, "Why that pass decided so."]
    now: Annotated[ExplanationJson | None, "What would be decided now."]
    changedSince: Annotated[list[ShiftJson], "Clusters that would be answered otherwise today."]
    copies: Annotated[list[CopyJson], "What each cluster has of it."]
    coming: Annotated[list[ComingJson], "What passes will do with it by themselves."]
    faults: Annotated[list[FaultJson], "Those that keep changes of it from taking effect."]
    note: Annotated[str, 'What must be said besides, `""` for nothing.']
    suspended: Annotated[SuspensionJson | None, "What suspends it, `null` where nothing does."]


def why_json(why: Why, cluster: str | None) -> WhyJson:
    """Return the answer for machines."""
    edited = why.event is not None and why.event.decision is None
    shifts = [shift for shift in why.shifts if cluster in (None, shift.cluster)]
    return {
        "object": object_json(why.key),
        "placed": placed_json(why.placed),
        "decided": None if why.event is None or edited else moved_json(why.event),
        "edited": moved_json(why.event) if why.event is not None and edited else None,
        "next": None if why.coming is None else _coming_json(why.coming),
        "then": None if why.then is None else _explanation_json(why.then, cluster),
        "now": None if why.now is None else _explanation_json(why.now, cluster),
        "changedSince": [{"cluster": str(s.cluster), "message": s.message} for s in shifts],
        "copies": [
            copy_json(copy) for copy in why.copies if cluster in (None, copy.status.cluster)
        ],
        "coming": [coming_json(coming) for coming in why.later],
        "faults": [fault_json(fault) for fault in why.faults],
        "note": why.note,
        "suspended": None if why.suspension is None else _suspension_json(why.suspension),
    }


def _suspension_json(told: Suspension) -> SuspensionJson:
    """Return what suspends an object, what its files ask for, and what a resume would move."""
    return {
        "by": [suspender_json(one) for one in told.by],
        "question": told.question,
        "next": None if told.moves is None else _coming_json(told.moves),
    }


def _coming_json(decision: Decision) -> NextJson:
    """Return what the next pass makes of it: from where to where, and why."""
    return {
        "cause": str(decision.cause),
        "before": placed_json(decision.before),
        "after": placed_json(decision.after),
    }


def _explanation_json(told: Explanation, cluster: str | None) -> ExplanationJson:
    return {
        "subject": told.subject,
        "question": told.question,
        "result": told.result,
        "clusters": [_answer_json(a) for a in told.clusters if cluster in (None, a.cluster)],
        "steps": list(told.steps),
        "rollout": list(told.rollout),
    }


def _answer_json(item: ClusterAnswer) -> AnswerJson:
    return {
        "cluster": str(item.cluster),
        "picked": item.picked,
        "rank": item.rank,
        "total": item.total,
        "scores": [
            {"plugin": part.plugin, "score": part.score, "weight": part.weight}
            for part in item.scores
        ],
        "replicas": 0 if item.picked and item.replicas is None else item.replicas,
        "note": item.note,
        "down": item.down,
        "rejections": [
            {"plugin": verdict.plugin, "reason": verdict.reason, "remedy": verdict.remedy}
            for verdict in item.verdicts
        ],
    }
