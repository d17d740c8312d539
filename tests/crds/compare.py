"""The differences between our schemas and what upstream's CRDs say."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reconciler.core.dialects import KINDS
from tests.crds.agreement import ANSWERS
from tests.crds.facts import Fields, KindVersion, asked, line_of, our_schemas, schema_fields, shown
from tests.crds.reader import PROJECTS, Upstream, project_of
from tests.crds.rules import UNANSWERED, Reason
from tests.crds.tables import read_commits, read_tables
from tests.shell.fleet import ROOT

DOMAINS = tuple(domain for project in PROJECTS.values() for domain in project.domains)
HEAD = ("KIND", "VERSION", "FIELD", "OURS", "THEIRS")
NONE = "-"
SERVED = "served"


class Difference(NamedTuple):
    """One fact that we and upstream see differently.

    Attributes:
        kind: The kind, in its version.
        field: Its path, `""` for the kind itself.
        ours: The fact as a table has it, `-` if we know nothing of the kind.
        theirs: Likewise.
    """

    kind: KindVersion
    field: str
    ours: str
    theirs: str


def differences(theirs: Upstream, by_hand: Mapping[KindVersion, Fields]) -> list[Difference]:
    """Return all differences, sorted.

    Args:
        theirs: What the CRDs say.
        by_hand: Field tables of kinds that no CRD serves.
    """
    found: list[Difference] = []
    for one, name in our_schemas().items():
        if one in by_hand:
            found += _of_fields(one, schema_fields(name), by_hand[one])
        elif one in theirs.fields:
            found += _of_fields(one, schema_fields(name), theirs.fields[one])
        if one.group.endswith(DOMAINS):
            found += _of_kind(one, theirs)
    found += _unread_versions(theirs)
    found += _unanswered_rules(theirs)
    return sorted(found)


def _of_fields(kind: KindVersion, ours: Fields, theirs: Fields) -> Iterator[Difference]:
    """Yield the differences of two tables.

    Of what only one has, its topmost field; nothing below a field of ours that takes any.
    """
    for path in sorted(ours.keys() | theirs.keys()):
        parent = _parent(path)
        if parent and (parent in ours) != (parent in theirs):
            continue
        if path not in ours and "open" in ours.get(parent, {}):
            continue
        if path not in ours or path not in theirs:
            mine, other = ours.get(path), theirs.get(path)
            yield Difference(
                kind, path, line_of(mine) if mine else NONE, line_of(other) if other else NONE
            )
            continue
        mine, other = ours[path], asked(theirs[path])
        for name in sorted(mine.keys() | other.keys()):
            pair = [shown(name, facts[name]) if name in facts else NONE for facts in (mine, other)]
            if pair[0] != pair[1]:
                yield Difference(kind, path, *pair)


def _parent(path: str) -> str:
    """Return the field that a field is in.

    >>> _parent("spec.taints[].key"), _parent("spec.taints[]"), _parent("spec")
    ('spec.taints[]', 'spec.taints', '')
    """
    if path.endswith(("[]", "{}")):
        return path[:-2]
    return path.rpartition(".")[0]


def _of_kind(one: KindVersion, theirs: Upstream) -> Iterator[Difference]:
    """Yield how a kind that we read is served in another way."""
    kind = (one.group, one.kind)
    served = theirs.kinds.get(kind)
    if served is None or one.version not in served.versions:
        yield Difference(one, "", SERVED, NONE)
    ours = "Namespaced" if KINDS.scopes.get(kind) else "Cluster"
    if served is not None and kind in KINDS.scopes and served.scope != ours:
        yield Difference(one, "", f"scope={ours}", f"scope={served.scope}")


def _unread_versions(theirs: Upstream) -> Iterator[Difference]:
    """Yield each version that is served of a kind that we read in another version."""
    ours = our_schemas()
    read = {(one.group, one.kind) for one in ours}
    for group, kind in theirs.kinds.keys() & read:
        for version in theirs.kinds[group, kind].versions:
            one = KindVersion(group, version, kind)
            if one not in ours:
                yield Difference(one, "", NONE, SERVED)


def _unanswered_rules(theirs: Upstream) -> Iterator[Difference]:
    """Yield each CEL rule that neither a function of ours answers nor a reason explains."""
    for one, rules in theirs.rules.items():
        for rule in rules:
            reasoned = any(row.covers(one, rule) for row in UNANSWERED)
            if not reasoned and not any(answer.covers(one, rule) for answer in ANSWERS):
                yield Difference(one, rule.field, NONE, f"cel={rule.expression}")


def unexplained(found: Iterable[Difference], reasons: Sequence[Reason]) -> list[Difference]:
    """Return the differences that no reason explains."""
    return [one for one in found if not any(_explains(reason, one) for reason in reasons)]


def unused(found: Sequence[Difference], reasons: Iterable[Reason]) -> list[Reason]:
    """Return the reasons that explain no difference."""
    return [one for one in reasons if not any(_explains(one, other) for other in found)]


def _explains(reason: Reason, one: Difference) -> bool:
    return reason.covers(str(one.kind), one.field, one.ours, one.theirs)


def table_of(found: Iterable[Difference]) -> str:
    """Return differences as a table for a person, aligned; `-` is where one side says nothing."""
    rows = [HEAD, *(_row(one) for one in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        + "\n"
        for row in rows
    )


def _row(one: Difference) -> tuple[str, ...]:
    return (f"{one.kind.kind}.{one.kind.group}", one.kind.version, one.field or NONE, *one[2:])


MODULE_HEAD = '''\
"""The kinds of the CRDs of {title} {commit}; written by `make schemas`."""

from collections.abc import Mapping

CRD_KINDS: Mapping[str, tuple[str, ...]] = {{
'''


def write_kinds(root: Path = ROOT) -> None:
    """Write the module of each project from the tables."""
    for project in read_commits(root):
        path = root / f"reconciler/dialects/{project}/crd_kinds.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kinds_text(project, root), encoding="utf-8")


def kinds_text(project: str, root: Path = ROOT) -> str:
    """Return the module of a project, as its tables have it."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for group, kind in sorted(read_tables(root).kinds):
        if project_of(group) == project:
            kinds[group].append(kind)
    title = PROJECTS[project].title
    return _rendered(kinds, MODULE_HEAD.format(title=title, commit=read_commits(root)[project]))


def _rendered(kinds: Mapping[str, Sequence[str]], head: str) -> str:
    """Return the module that holds the table, one kind a line."""
    lines = [head]
    for group, names in kinds.items():
        listed = "".join(f"        {json.dumps(name)},\n" for name in names)
        several = f"(\n{listed}    )" if len(names) > 1 else f"({json.dumps(names[0])},)"
        lines.append(f"    {json.dumps(group)}: {several},\n")
    lines.append('}\n"""Group to kinds."""\n')
    return "".join(lines)
