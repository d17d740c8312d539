"""Writes the table of the kinds that an API's CRDs define.

`python -m tests.crd_kinds FOLDER 'Karmada f8fdd02' > reconciler/dialects/karmada/crd_kinds.py`, for
any folder of CRDs.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml import YAML

HEAD = '''\
"""The kinds of the CRDs of {source}; written by `tests/crd_kinds.py`."""

from collections.abc import Mapping

CRD_KINDS: Mapping[str, tuple[str, ...]] = {{
'''


def kinds_in(folder: Path) -> dict[str, list[str]]:
    """Return group to kinds, both sorted, of the CRDs in a folder."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in folder.rglob("*.yaml"):
        for body in YAML(typ="safe").load_all(path.read_text(encoding="utf-8")):
            if body and body.get("kind") == "CustomResourceDefinition":
                found[body["spec"]["group"]].add(body["spec"]["names"]["kind"])
    return {group: sorted(found[group]) for group in sorted(found)}


def rendered(kinds: Mapping[str, list[str]], source: str) -> str:
    """Return the module that holds the table, one kind a line."""
    lines = [HEAD.format(source=source)]
    for group, names in kinds.items():
        listed = "".join(f"        {json.dumps(name)},\n" for name in names)
        several = f"(\n{listed}    )" if len(names) > 1 else f"({json.dumps(names[0])},)"
        lines.append(f"    {json.dumps(group)}: {several},\n")
    lines.append('}\n"""Group to kinds."""\n')
    return "".join(lines)


if __name__ == "__main__":
    sys.stdout.write(rendered(kinds_in(Path(sys.argv[1])), sys.argv[2]))
