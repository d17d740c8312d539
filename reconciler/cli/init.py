"""Beginning a new fleet: what is wanted, by options or by questions, and its files.

The files are those of the example, chosen by API, forge and wish. What a file contains says whose
it is, so a file that is added to the example needs no line here. The READMEs say which folder has
what, and what to do first. The choice of files reads and writes nothing.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import click

from reconciler.cli.fleet_choice import APIS, BOTH, CI, DELIVERIES, FORGES, FleetChoice
from reconciler.core.dialects import dialect_of
from reconciler.errors import ReconcilerError, UsageError
from reconciler.manifests.paths import is_manifest_name
from reconciler.manifests.text.reader import read
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import OUTPUT_ROOT
from reconciler.model.records import dataclass
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.model.text import printable
from reconciler.shell.git.repository import Repository
from reconciler.shell.resources import (
    example_files,
    finish_new_files,
    is_top,
    taken,
    write_new_files,
)

CHOICES = ", ".join(APIS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """What the options say; `None` and `()` where they say nothing."""

    apis: tuple[str, ...] = ()
    examples: bool | None = None
    ci: str | None = None
    delivery: str | None = None


def run(
    directory: Path | None,
    *,
    folder: Path,
    apis: tuple[str, ...],
    examples: bool | None,
    ci: str | None,
    delivery: str | None,
) -> int:
    """Write the files of a fleet into a folder, and say which; nothing that is there is touched."""
    asked = FleetOptions(apis=apis, examples=examples, ci=ci, delivery=delivery)
    place = (directory or Path()) / folder
    if place.exists() and not place.is_dir():
        raise UsageError(f'"{place}" is a file; give a folder')
    finished = finish_new_files(place)
    if finished:
        count = f"{len(finished)} file{'s' if len(finished) != 1 else ''}"
        click.echo(f"continued an interrupted init: {count} in {printable(str(place))}")
        return 0
    manifests = place.is_dir() and _holds_manifests(place)
    usual = FleetOptions(
        apis=tuple(APIS), examples=not manifests, ci=_forge(place), delivery="none"
    )
    if asked == FleetOptions() and sys.stdin.isatty() and sys.stdout.isatty():
        asked = _questions(usual)
    choice = _choice(asked, usual, folders=not manifests)
    files = fleet_files(example_files(), choice)
    in_the_way = taken(place, files)
    written = {path: data for path, data in files.items() if path not in in_the_way}
    try:
        write_new_files(place, written)
    except NotADirectoryError:
        raise UsageError(f'"{place}" is below a file; give another folder') from None
    _tell(place, choice, written, in_the_way)
    return 0


def _choice(asked: FleetOptions, usual: FleetOptions, *, folders: bool) -> FleetChoice:
    """Return what is wanted, with what is usual where nothing is said."""
    ci = asked.ci or usual.ci
    return FleetChoice(
        apis=tuple(name for name in APIS if name in (asked.apis or usual.apis)),
        examples=bool(usual.examples if asked.examples is None else asked.examples),
        folders=folders or bool(asked.examples),
        forges=tuple(name for name in FORGES if ci in (name, BOTH)),
        delivery=asked.delivery or usual.delivery or "none",
    )


def _questions(usual: FleetOptions) -> FleetOptions:
    """Ask a person what is wanted; Enter takes what is in brackets."""
    return FleetOptions(
        apis=click.prompt(
            f"APIs, of {CHOICES}", default=",".join(usual.apis), value_proc=_apis_named
        ),
        examples=click.confirm("Examples to play with?", default=bool(usual.examples)),
        ci=click.prompt("Pipelines in CI", type=click.Choice(CI), default=usual.ci),
        delivery=click.prompt(
            "Delivery to clusters", type=click.Choice([*DELIVERIES]), default=usual.delivery
        ),
    )


def _apis_named(words: str) -> tuple[str, ...]:
    """Return the APIs that an answer names, separated by commas or blanks."""
    named = tuple(words.replace(",", " ").split())
    if not named or not set(named) <= set(APIS):
        raise click.UsageError(f"give one or more of {CHOICES}")
    return named


def _holds_manifests(folder: Path) -> bool:
    """Return whether a fleet is there already: manifests, valid or not, beside a configuration."""
    from reconciler.cli.progress import tracked
    from reconciler.library.folder import read_folder

    world = read_folder(folder, track=tracked)
    return bool(world.faults) or any(key.kind != "ReconcilerConfiguration" for key in world.inputs)


def _forge(folder: Path) -> str:
    """Return the forge that the remote of a checkout is on, as far as its address says.

    A folder that is not there yet becomes a repository of its own, wherever it is made.
    """
    if not folder.is_dir():
        return BOTH
    try:
        repository = Repository.open(folder)
    except ReconcilerError:
        return BOTH
    url = repository.git.run("config", "--get", "remote.origin.url").stdout.decode(errors="replace")
    host = url.lower().partition("://")[2] or url.lower()
    named = [forge for forge in FORGES if forge in host.partition("/")[0].partition(":")[0]]
    return named[0] if named else BOTH


def _tell(folder: Path, choice: FleetChoice, written: Iterable[str], left: list[str]) -> None:
    """Say what was written, what was left alone, and what a person is to do about that."""
    shown = printable(str(folder))
    if choice.is_tutorial and not left:
        click.echo(f"the example repository is in {shown}; see its README.md for the next steps")
    else:
        for path in sorted(written):
            click.echo(f"wrote {printable(str(folder / path))}")
    for path in left:
        click.echo(f"kept {printable(str(folder / path))}: it already exists")
    if CONFIGURATION_PATH in left and choice.transports:
        click.echo(
            f"for delivery, add to {CONFIGURATION_PATH}:\nspec:\n{configuration_lines(choice)}",
            nl=False,
        )
    if choice.forges and not is_top(folder) and any(map(is_top, folder.resolve().parents)):
        click.echo(
            "a forge runs pipelines only from the top of a repository: move those of this folder "
            "there, or make a repository of it",
            err=True,
        )


Files = Mapping[str, bytes]
"""Path to content, the path relative to the folder of the fleet."""

MINIMAL = """\
# What decisions depend on besides the manifests. Everything here has a default.
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata:
  name: fleet
spec:
  # One inventory, one score table, and room that is counted once, for all APIs.
  inventory:
    project: true
  scores:
    extend: true
  capacity:
    protect: true
"""
OF_A_SELECTOR = "resourceSelectors"  # where Karmada and KubeFleet name the workloads they place
FENCED = re.compile(rb"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fleet_files(example: Files, choice: FleetChoice) -> Files:
    """Return the files to begin with.

    Args:
        example: All files of the example repository.
        choice: What is wanted.
    """
    owners = api_by_file(example)
    files = {path: data for path, data in example.items() if _is_kept(path, owners, choice)}
    files[CONFIGURATION_PATH] = _configuration(example[CONFIGURATION_PATH], choice)
    return files | readmes(example, files, choice) if choice.folders else files


def api_by_file(example: Files) -> Mapping[str, frozenset[str]]:
    """Return for each manifest of the example, and each README with one in it, the APIs it is of.

    A document of an API's group is of that API, and a workload of each API whose policies or
    placements name it. Of our configuration nothing is said.
    """
    documents = {path: tuple(_bodies(path, data)) for path, data in example.items()}
    selectors = [
        (dialect.name, selector)
        for found in documents.values()
        for body in found
        if (dialect := dialect_of(_group_of(body))) is not None
        for selector in bodies(mapping(body, "spec"), OF_A_SELECTOR)
    ]
    return {
        path: frozenset(api for body in found for api in _apis_of(body, selectors))
        for path, found in documents.items()
        if found
    }


def configuration_lines(choice: FleetChoice) -> str:
    """Return what a configuration says of delivery, as lines below `spec:`; `""` for nothing."""
    if not choice.transports:
        return ""
    said = f"  # {DELIVERIES[choice.delivery][0]}"
    return "\n".join(
        [said, "  delivery:", *(f"    {name}: {{}}" for name in choice.transports), ""]
    )


def _group_of(body: Mapping[str, object]) -> str:
    """Return the API group that a document or a selector names, `""` for the core's."""
    group, slash, _ = text(body, "apiVersion").partition("/")
    return group if slash else text(body, "group")


def _bodies(path: str, data: bytes) -> Iterator[Mapping[str, object]]:
    """Yield the documents of a manifest, and the targets of the demand that a README shows."""
    if path.startswith(".") or path == CONFIGURATION_PATH:
        return
    if is_manifest_name(path):
        yield from (document.body for document in read(data, path).documents)
    elif path.endswith(f"/{README}"):
        for block in FENCED.findall(data):
            for document in read(block, path).documents:
                yield from bodies(mapping(document.body, "spec"), "workloads")


def _apis_of(
    body: Mapping[str, object], selectors: Iterable[tuple[str, Mapping[str, object]]]
) -> Iterator[str]:
    """Yield the APIs of a document, by its group or by what selects it."""
    dialect = dialect_of(_group_of(body))
    if dialect is not None:
        yield dialect.name
        return
    kind = (_group_of(body), text(body, "kind"))
    name = text(body, "name") or text(mapping(body, "metadata"), "name")
    for api, selector in selectors:
        meant = (_group_of(selector), text(selector, "kind"))
        if meant == kind and text(selector, "name") in ("", name):
            yield api


def _is_kept(path: str, owners: Mapping[str, frozenset[str]], choice: FleetChoice) -> bool:
    """Return whether a file of the example is among those to begin with, as it is."""
    if path.endswith(README):
        ours = not owners.get(path, frozenset()).isdisjoint(choice.apis)
        return choice.folders and (path == README or ours)
    if path in owners:
        return choice.examples and not owners[path].isdisjoint(choice.apis)
    forges = [forge for forge in FORGES if path.startswith(f".{forge}")]
    return not forges or forges[0] in choice.forges


def _configuration(example: bytes, choice: FleetChoice) -> bytes:
    """Return the configuration: that of the example, or the least there is, with delivery."""
    lines = configuration_lines(choice)
    if choice.examples:
        return example + lines.encode()
    return (MINIMAL + lines).encode()


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
    pages = {README: fleet.encode()}
    for row in rows:
        if row.folder != OUTPUT_ROOT and not any(
            path.startswith(f"{row.folder}/") for path in files
        ):
            pages[f"{row.folder}/{README}"] = f"Written by {row.who}: {row.what}.\n".encode()
    return pages


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
    lines = [
        f"\n`{path}` checks what people write, and says in one comment on {FORGES[forge]}\n"
        "what merging it would move. `RECONCILER` in it wants the address of the wheel that it\n"
        "installs.\n"
        for forge in choice.forges
        for path in sorted(example)
        if path.startswith(f".{forge}")
    ]
    return "".join(["\n## In CI\n", *lines]) if lines else ""
