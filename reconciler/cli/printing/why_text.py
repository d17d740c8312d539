"""How an explanation is put into words for people."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import click

from reconciler.audit.printable import printable
from reconciler.audit.reasons import Why, against
from reconciler.audit.short_id import short_id
from reconciler.cli.printing.coming import coming_lines
from reconciler.cli.printing.copies import copies_lines
from reconciler.cli.printing.decision_words import by_whom, name_of, placed_text
from reconciler.cli.printing.faults import fault_line
from reconciler.cli.printing.table import table_lines
from reconciler.model.enumeration import enumerated
from reconciler.model.explanation import ClusterAnswer, ClusterVerdict, Explanation, ScorePart
from reconciler.model.moments import format_moment

MOST_ROWS = 30  # of clusters that were turned away; -o json has all
MOST_NAMES = 8
UNASKED = "scheduling was not asked about it"


def why_text(why: Why, cluster: str | None) -> str:
    """Return the answer for people; with `cluster` what concerns that cluster only."""
    told = why.explanation
    if told is None:
        raise ValueError("there is nothing to tell")
    blocks = [_head(why, told)]
    if cluster is None:
        blocks += [_table(why, told), _reasons(told.clusters), _steps(told)]
    else:
        lines = [line for item in _only(told, cluster) for line in _detail(why, item)]
        blocks.append(lines or [f"{printable(cluster)}: {UNASKED}"])
    blocks.append(_rollout(why))
    blocks += [_since(why, cluster), copies_lines(why.copies, cluster), coming_lines(why.later)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _rollout(why: Why) -> list[str]:
    """Return how far the object is rolled out by now, as far as anything but time does that."""
    told = why.now or why.then
    lines = () if told is None else told.rollout
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
        return {"decided": "unknown; this is what scheduling says of the present"}
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
        return "the next pass leaves it there"
    before, after = why.coming.before, why.coming.after
    verb = "moves it to" if before and after else "places it on" if after else "takes it off"
    return f"the next pass {verb} {placed_text(after or before)}: {why.coming.cause}"


def _table(why: Why, told: Explanation) -> list[str]:
    """Return the clusters: chosen ones first, then by rank, those turned away last."""
    if not told.clusters:
        return ["No cluster was asked."]
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
        lines.insert(0, "If it were scheduled anew:")
    if len(away) > MOST_ROWS:
        lines.append(f"and {len(away) - MOST_ROWS} more that are turned away")
    return lines


def _order(item: ClusterAnswer) -> tuple[bool, bool, int, str]:
    """Sort chosen clusters first, then those that pass, then the others."""
    return not item.picked, bool(item.verdicts), item.rank or 0, item.cluster


def _row(why: Why, item: ClusterAnswer) -> list[str]:
    """Return one cluster; of one that is turned away the note names the filters."""
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
        verdict = f"{'' if decided else 'would be '}turned away"
    else:
        verdict = f"passes{rank}" if decided else f"would pass{rank}"
    is_there = any(name == item.cluster for name, _ in why.placed)
    return f"is there, {verdict}" if is_there and not item.picked else verdict


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
    alike: dict[tuple[str, tuple[ClusterVerdict, ...]], list[str]] = defaultdict(list)
    for item in clusters:
        if item.verdicts:
            alike[item.down, item.verdicts].append(str(item.cluster))
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
            yield f"    to be eligible: {printable(verdict.remedy)}"


def _steps(told: Explanation) -> list[str]:
    """Return the steps, numbered."""
    if not told.steps:
        return []
    return ["Steps:", *(f"  {i}. {printable(step)}" for i, step in enumerate(told.steps, start=1))]


def _only(told: Explanation, cluster: str) -> list[ClusterAnswer]:
    return [item for item in told.clusters if item.cluster == cluster]


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
        return ["Now: not scheduled, it is suspended."]
    if why.now is None:
        return ["Now: not scheduled; passes are suspended, or it is gone."]
    if not why.now.judged:
        return [f"Now: {printable(why.now.result.removesuffix('.'))}."]
    if not shifts:
        who = "every cluster" if cluster is None else "it"
        return [f"Now: {who} would be judged as it was then."]
    lines = [f"  {printable(shift.cluster)} {printable(shift.message)}" for shift in shifts]
    return ["Now, other than then:", *lines]
