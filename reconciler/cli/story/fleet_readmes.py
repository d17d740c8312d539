"""What stands in the READMEs of a new fleet: which folder holds what, and what to do first."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reconciler.cli.story.fleet_choice import APIS, DELIVERIES, FORGES, FleetChoice
from reconciler.core.dialects import dialect_of
from reconciler.manifests.file_names import is_manifest_name
from reconciler.manifests.text.reader import read
from reconciler.model.fields import text
from reconciler.model.repository_layout import OUTPUT_ROOT

README = "README.md"
ROW = re.compile(r"^\| `([^`]+)/` \| (.*?) \| (.*?) \|$", re.MULTILINE)
OF_CI = re.compile(r"\n## In CI\n.*?(?=\n## |\Z)", re.DOTALL)
START = """\

## Begin

In a repository, or after `git init -b main`:

```console
$ git add .
$ git commit -m "Start the fleet"
$ reconciler validate
$ reconciler reconcile --dry-run
```

`reconciler run` lets the daemon serve it: each commit of yours is followed by one with the
decisions. `reconciler get`, `reconciler why OBJECT` and `reconciler plan` say where everything is,
why, and what a change would move. `reconciler explain KIND` has the fields of a kind.
"""


class FolderRow(NamedTuple):
    """A folder, who writes it, and what it holds."""

    folder: str
    who: str
    what: str


def readmes(
    example: Mapping[str, bytes], files: Mapping[str, bytes], choice: FleetChoice
) -> dict[str, bytes]:
    """Return the README of the fleet, and one of each folder that has no file yet.

    Args:
        example: All files of the example.
        files: Those of them that are written.
        choice: What is wanted.
    """
    written = example[README].decode()
    rows = list(_rows(example, written, choice))
    fleet = written if choice.is_tutorial else _short(rows, choice)
    if not choice.is_tutorial or set(choice.forges) != set(FORGES):
        fleet = OF_CI.sub("", fleet) + _ci(example, choice)
    found = {README: fleet.encode()}
    for row in rows:
        if row.folder != OUTPUT_ROOT and not any(
            path.startswith(f"{row.folder}/") for path in files
        ):
            found[f"{row.folder}/{README}"] = f"Written by {row.who}: {row.what}.\n".encode()
    return found


def _rows(example: Mapping[str, bytes], written: str, choice: FleetChoice) -> Iterator[FolderRow]:
    """Yield the folders of the example that the APIs need, with their kinds there."""
    for folder, who, what in ROW.findall(written):
        kinds = dict(_kinds(example, folder))
        if not kinds:
            yield FolderRow(folder, who, what)
            continue
        ours = sorted(kind for kind, api in kinds.items() if api in choice.apis)
        if ours:
            yield FolderRow(folder, who, ", ".join(ours))


def _kinds(example: Mapping[str, bytes], folder: str) -> Iterator[tuple[str, str]]:
    """Yield the kinds of APIs that the example has in a folder, with the API of each."""
    for path, data in example.items():
        if path.startswith(f"{folder}/") and is_manifest_name(path):
            for document in read(data, path).documents:
                version, kind = text(document.body, "apiVersion"), text(document.body, "kind")
                dialect = dialect_of(version.partition("/")[0])
                if dialect is not None:
                    yield f"`{kind}` (`{version}`)", dialect.name


def _short(rows: list[FolderRow], choice: FleetChoice) -> str:
    """Return a README that is true of any choice."""
    table = "\n".join(f"| `{row.folder}/` | {row.who} | {row.what} |" for row in rows)
    apis = " and ".join(APIS[name] for name in APIS if name in choice.apis)
    return (
        "# A fleet in a repository\n\n"
        f"Clusters, and what runs on them, in the API of {apis}. The reconciler reads this\n"
        f"branch, decides what runs where, and commits its decisions below `{OUTPUT_ROOT}/`.\n\n"
        f"| folder | who writes it | what it holds |\n| --- | --- | --- |\n{table}\n"
        f"{START}\n## Delivery\n\n{DELIVERIES[choice.delivery][0]}\n"
    )


def _ci(example: Mapping[str, bytes], choice: FleetChoice) -> str:
    """Return what is said of the pipelines, `""` without any."""
    told = [
        f"\n`{path}` checks what people write, and says in one comment on {FORGES[forge]}\n"
        "what merging it would move. `RECONCILER` in it wants the address of the wheel that it\n"
        "installs.\n"
        for forge in choice.forges
        for path in sorted(example)
        if path.startswith(f".{forge}")
    ]
    return "".join(["\n## In CI\n", *told]) if told else ""
