"""How an explanation is put into words, for people and for machines."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import click

from reconciler.audit.printable import printable
from reconciler.audit.reasons import Why, against
from reconciler.cli.faults import fault_line
from reconciler.cli.history import SHORT_ID, by_whom, commit_json, placed_json, placed_text
from reconciler.cli.table import table_lines
from reconciler.model.explanation import ClusterAnswer, Explanation, ScorePart, Verdict
from reconciler.model.moments import format_moment

MOST_ROWS = 30  # of clusters that were turned away; -o json has all
MOST_NAMES = 8


def why_text(why: Why, cluster: str | None) -> str:
    """Return the answer for people; with `cluster` what concerns that cluster only."""
    told = why.explanation
    if told is None:
        raise ValueError("there is nothing to tell")
    blocks = [_head(why, told)]
    if cluster is None:
        blocks += [_table(told.clusters), _reasons(told.clusters), _steps(told)]
    else:
        blocks.append([line for item in _only(told, cluster) for line in _detail(item)])
    blocks.append(_since(why, cluster))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _head(why: Why, told: Explanation) -> list[str]:
    """Return what is where, what was asked, how it ended, who decided."""
    title = f"{told.subject} is on {placed_text(why.placed)}"
    facts = {"asked": told.question, "result": told.result}
    event = why.event
    if event is not None and event.decision is not None:
        when, commit = format_moment(event.at), event.commit.revision[:SHORT_ID]
        before = placed_text(event.decision.before)
        facts["decided"] = f"{when} in {commit}: {event.decision.cause}; it was {before}"
        facts["because"] = by_whom(event)
        if event.decision.problem:
            facts["problem"] = event.decision.problem
    else:
        facts["decided"] = "unknown; this is what scheduling says of the present"
    if why.note:
        facts["note"] = why.note
    if why.faults:
        facts["faults"] = "; ".join(map(fault_line, why.faults))
    width = max(map(len, facts))
    lines = [f"  {name.ljust(width)}  {printable(text)}" for name, text in facts.items() if text]
    return [click.style(printable(title), bold=True), *lines]


def _table(clusters: Sequence[ClusterAnswer]) -> list[str]:
    """Return the clusters: chosen ones first, then by rank, those turned away last."""
    if not clusters:
        return ["No cluster was asked."]
    ordered = sorted(clusters, key=_order)
    away = [item for item in ordered if item.verdicts and not item.picked]
    shown = [item for item in ordered if item not in away] + away[:MOST_ROWS]
    titles = ["CLUSTER", "VERDICT", "SCORE", "REPLICAS", "NOTE"]
    lines = table_lines(titles, [_row(item) for item in shown])
    if len(away) > MOST_ROWS:
        lines.append(f"and {len(away) - MOST_ROWS} more that are turned away")
    return lines


def _order(item: ClusterAnswer) -> tuple[bool, bool, int, str]:
    """Sort chosen clusters first, then those that pass, then the others."""
    return not item.picked, bool(item.verdicts), item.rank or 0, item.cluster


def _row(item: ClusterAnswer) -> list[str]:
    """Return one cluster; of one that is turned away the note names the filters."""
    filters = ", ".join(verdict.plugin or "deletion" for verdict in item.verdicts)
    note = "; ".join(filter(None, (item.note, filters)))
    replicas = "-" if item.replicas is None else str(item.replicas)
    return [str(item.cluster), _verdict(item), _score(item), replicas, note or "-"]


def _verdict(item: ClusterAnswer) -> str:
    """Return what became of a cluster, with its rank."""
    rank = f" #{item.rank}" if item.rank is not None else ""
    if item.picked:
        return f"chosen{rank}"
    return "turned away" if item.verdicts else f"passes{rank}"


def _score(item: ClusterAnswer) -> str:
    """Return the score and its parts; where no total counts the parts only."""
    parts = " + " if item.total is not None else ", "
    told = parts.join(map(_part, item.scores))
    if item.total is None:
        return told or "-"
    return f"{item.total} = {told}" if told else str(item.total)


def _part(part: ScorePart) -> str:
    """Return one part; a weight of 1 goes without saying."""
    return str(part) if part.weight != 1 else f"{part.plugin} {part.score}"


def _reasons(clusters: Sequence[ClusterAnswer]) -> list[str]:
    """Return every reason against the clusters; alike clusters stand together."""
    alike: dict[tuple[Verdict, ...], list[str]] = defaultdict(list)
    for item in clusters:
        if item.verdicts:
            alike[item.verdicts].append(str(item.cluster))
    lines = []
    for verdicts, names in sorted(alike.items(), key=lambda pair: pair[1]):
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        lines.append(f"Why not {printable(', '.join(names[:MOST_NAMES]))}{more}:")
        lines += _against(verdicts)
    return lines


def _against(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield each reason with what would have to change."""
    for verdict in verdicts:
        yield f"  {printable(against(verdict))}"
        if verdict.remedy:
            yield f"    to be eligible: {printable(verdict.remedy)}"


def _steps(told: Explanation) -> list[str]:
    """Return the steps, numbered."""
    if not told.steps:
        return []
    return ["Steps:", *(f"  {i}. {printable(step)}" for i, step in enumerate(told.steps, start=1))]


def _only(told: Explanation, cluster: str) -> list[ClusterAnswer]:
    return [item for item in told.clusters if item.cluster == cluster]


def _detail(item: ClusterAnswer) -> list[str]:
    """Return all about one cluster."""
    lines = [f"{printable(item.cluster)}: {_verdict(item)}"]
    if item.replicas is not None:
        lines.append(f"  replicas: {item.replicas}")
    if item.scores or item.total is not None:
        lines.append(f"  score: {printable(_score(item))}")
    if item.note:
        lines.append(f"  note: {printable(item.note)}")
    return [*lines, *_against(item.verdicts)]


def _since(why: Why, cluster: str | None) -> list[str]:
    """Return what scheduling would say otherwise today."""
    shifts = [shift for shift in why.shifts if cluster in (None, shift.cluster)]
    if why.then is None:
        return []
    if why.now is None:
        return ["Now: not scheduled; passes are suspended, or it is gone."]
    if not why.now.judged:
        return [f"Now: {printable(why.now.result)}."]
    if not shifts:
        who = "every cluster" if cluster is None else "it"
        return [f"Now: {who} would be judged as it was then."]
    lines = [f"  {printable(shift.cluster)} {printable(shift.message)}" for shift in shifts]
    return ["Now, other than then:", *lines]


def why_json(why: Why, cluster: str | None) -> dict[str, object]:
    """Return the answer for machines."""
    event = why.event
    decided: dict[str, object] | None = None
    if event is not None and event.decision is not None:
        decided = {
            "commit": event.commit.revision,
            "at": format_moment(event.at),
            "cause": str(event.decision.cause),
            "before": placed_json(event.decision.before),
            "after": placed_json(event.decision.after),
            "problem": event.decision.problem,
            "inputs": [commit_json(cause) for cause in event.causes],
        }
    shifts = [shift for shift in why.shifts if cluster in (None, shift.cluster)]
    key = why.key
    return {
        "schemaVersion": 1,
        "object": {
            "group": key.group,
            "kind": key.kind,
            "namespace": key.namespace,
            "name": key.name,
        },
        "placed": placed_json(why.placed),
        "decided": decided,
        "then": None if why.then is None else _explanation_json(why.then, cluster),
        "now": None if why.now is None else _explanation_json(why.now, cluster),
        "changedSince": [{"cluster": str(s.cluster), "message": s.message} for s in shifts],
        "faults": [fault_line(fault) for fault in why.faults],
        "note": why.note,
    }


def _explanation_json(told: Explanation, cluster: str | None) -> dict[str, object]:
    """Return one explanation."""
    return {
        "subject": told.subject,
        "question": told.question,
        "result": told.result,
        "clusters": [_answer_json(a) for a in told.clusters if cluster in (None, a.cluster)],
        "steps": list(told.steps),
    }


def _answer_json(item: ClusterAnswer) -> dict[str, object]:
    """Return what is said of one cluster."""
    return {
        "cluster": str(item.cluster),
        "picked": item.picked,
        "rank": item.rank,
        "total": item.total,
        "scores": [
            {"plugin": part.plugin, "score": part.score, "weight": part.weight}
            for part in item.scores
        ],
        "replicas": item.replicas,
        "note": item.note,
        "rejections": [
            {"plugin": verdict.plugin, "reason": verdict.reason, "remedy": verdict.remedy}
            for verdict in item.verdicts
        ],
    }
