"""The modules `crd_kinds.py` of the dialects: which kinds upstream's CRDs define."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.crds.projects import PROJECTS, project_of
from tests.crds.tables import read_commits, read_tables
from tests.shell.fleet import ROOT

HEAD = '''\
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
    return _rendered(kinds, HEAD.format(title=title, commit=read_commits(root)[project]))


def _rendered(kinds: Mapping[str, Sequence[str]], head: str) -> str:
    """Return the module that holds the table, one kind a line."""
    lines = [head]
    for group, names in kinds.items():
        listed = "".join(f"        {json.dumps(name)},\n" for name in names)
        several = f"(\n{listed}    )" if len(names) > 1 else f"({json.dumps(names[0])},)"
        lines.append(f"    {json.dumps(group)}: {several},\n")
    lines.append('}\n"""Group to kinds."""\n')
    return "".join(lines)
