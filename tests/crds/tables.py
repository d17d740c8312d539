"""The facts of upstream's CRDs as this repository keeps them: `fixtures/fields`, `fixtures/crds`.

`kinds.txt` says how each kind is served, and from which commits the facts are; `rules.json` has
the CEL rules of all kinds; a field table has the fields of one kind that we have a schema for.
Tables of kinds without a CRD (Karmada's aggregated API, our own kinds) stand beside them, written
by hand.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from reconciler.model.kinds import Kind
from tests.crds.facts import Fields, KindVersion, facts_in, line_of
from tests.crds.reader import NO_OPTIONS, Rule, Served, Upstream, project_of
from tests.shell.fleet import ROOT

UNKNOWN = "unknown"

Key = TypeVar("Key", bound=tuple[str, ...])
Value = TypeVar("Value")


def read_commits(root: Path = ROOT) -> dict[str, str]:
    """Return project to the commit that its facts are from."""
    lines = _kinds(root).read_text(encoding="utf-8").splitlines()
    heads = (line.partition(" ") for line in lines if line and not line.startswith(" "))
    return {project: commit for project, _, commit in heads}


def read_tables(root: Path = ROOT) -> Upstream:
    """Return the facts that are kept, those written by hand left out."""
    kinds = _read_kinds(root)
    served = [
        KindVersion(group, version, kind)
        for (group, kind), one in kinds.items()
        for version in one.versions
    ]
    fields = {one: read_fields(_table(one, root)) for one in served if _table(one, root).exists()}
    return Upstream(kinds=kinds, fields=fields, rules=_read_rules(root))


def read_by_hand(kinds: Iterable[KindVersion], root: Path = ROOT) -> Mapping[KindVersion, Fields]:
    """Return the tables of kinds that no CRD serves."""
    served = read_tables(root).kinds
    return {
        one: read_fields(_table(one, root))
        for one in kinds
        if one.version not in served.get((one.group, one.kind), Served("", (), "")).versions
    }


def read_fields(path: Path) -> Fields:
    """Return the fields of one table."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("  ", maxsplit=1) for line in lines)
    return {field: facts_in(facts) for field, facts in pairs if field != "metadata"}


def write_tables(
    found: Upstream, ours: Iterable[KindVersion], commit: str, root: Path = ROOT
) -> None:
    """Keep the facts of a folder of CRDs, in place of those of the same API groups.

    Args:
        found: What the folder says.
        ours: The kinds that we have schemas for; only their fields are kept.
        commit: Where the CRDs are from; `""` if that is not known. A commit stays as it was if no
            fact of its project has changed.
        root: Of the repository.
    """
    known = _kinds(root).exists()
    present = read_tables(root) if known else Upstream(kinds={}, fields={}, rules={})
    kinds = _joined(present.kinds, found.kinds, found.groups)
    rules = _joined(present.rules, found.rules, found.groups)
    fields = {one: found.fields[one] for one in ours if one in found.fields}
    commits = read_commits(root) if known else {}
    for project in sorted({project_of(group) for group in found.groups}):
        groups = {group for group in found.groups if project_of(group) == project}
        if commit or project not in commits or _changed(present, found, fields, groups):
            commits[project] = commit or UNKNOWN
    for one, table in fields.items():
        _table(one, root).parent.mkdir(parents=True, exist_ok=True)
        lines = {"metadata": "object", **{path: line_of(facts) for path, facts in table.items()}}
        text = "".join(f"{path}  {lines[path]}\n" for path in sorted(lines))
        _table(one, root).write_text(text, encoding="utf-8")
    _kinds(root).parent.mkdir(parents=True, exist_ok=True)
    _kinds(root).write_text(_kinds_text(kinds, commits), encoding="utf-8")
    _rules(root).write_text(_rules_text(rules), encoding="utf-8")


def _changed(
    present: Upstream, found: Upstream, fields: Mapping[KindVersion, Fields], groups: set[str]
) -> bool:
    """Return whether any fact of these groups that is kept is another one than before."""
    pairs = (
        (present.kinds, found.kinds),
        (present.rules, found.rules),
        (present.fields, {key: one for key, one in fields.items() if key in present.fields}),
    )
    return any(
        {key: one for key, one in before.items() if key[0] in groups}
        != {key: one for key, one in after.items() if key[0] in groups}
        for before, after in pairs
    )


def _joined(
    present: Mapping[Key, Value], found: Mapping[Key, Value], groups: frozenset[str]
) -> dict[Key, Value]:
    """Return what was found, and what is kept of other groups."""
    return {**{key: one for key, one in present.items() if key[0] not in groups}, **found}


def _kinds(root: Path) -> Path:
    return root / "fixtures/crds/kinds.txt"


def _rules(root: Path) -> Path:
    return root / "fixtures/crds/rules.json"


def _table(one: KindVersion, root: Path) -> Path:
    return root / f"fixtures/fields/{one.group}/{one.kind.lower()}_{one.version}.txt"


def _kinds_text(kinds: Mapping[Kind, Served], commits: Mapping[str, str]) -> str:
    lines = []
    for project, commit in sorted(commits.items()):
        lines.append(f"{project} {commit}")
        for (group, kind), one in sorted(kinds.items()):
            if project_of(group) == project:
                stored = [f"{name}*" if name == one.stored else name for name in one.versions]
                lines.append(f"  {group} {kind} {one.scope} {' '.join(stored)}")
    return "\n".join(lines) + "\n"


def _read_kinds(root: Path) -> dict[Kind, Served]:
    found = {}
    for line in _kinds(root).read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            group, kind, scope, *versions = line.split()
            stored = "".join(name[:-1] for name in versions if name.endswith("*"))
            names = tuple(name.removesuffix("*") for name in versions)
            found[group, kind] = Served(scope, names, stored)
    return found


def _rules_text(rules: Mapping[KindVersion, tuple[Rule, ...]]) -> str:
    """Return each rule once, with the kinds that it is of."""
    kinds: dict[Rule, list[str]] = defaultdict(list)
    for one, found in sorted(rules.items()):
        for rule in found:
            kinds[rule].append(str(one))
    rows = [{**_told(rule), "kinds": names} for rule, names in sorted(kinds.items())]
    return json.dumps(rows, indent=2) + "\n"


def _told(rule: Rule) -> dict[str, str]:
    """Return a rule as a row has it: without options if it has none."""
    return {key: one for key, one in rule._asdict().items() if one != NO_OPTIONS}


def _read_rules(root: Path) -> dict[KindVersion, tuple[Rule, ...]]:
    found: dict[KindVersion, list[Rule]] = defaultdict(list)
    for row in json.loads(_rules(root).read_text(encoding="utf-8")):
        rule = Rule(row["field"], row["expression"], row.get("options", NO_OPTIONS))
        for name in row["kinds"]:
            group, version, kind = name.replace("/", " ").split()
            found[KindVersion(group, version, kind)].append(rule)
    return {one: tuple(sorted(rules)) for one, rules in found.items()}
