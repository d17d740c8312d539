"""Beginning a fleet of one's own: what is wanted, by options or by questions, and its files."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from reconciler.audit.printable import printable
from reconciler.cli.story.fleet_choice import APIS, BOTH, CI, DELIVERIES, FORGES, FleetChoice
from reconciler.cli.story.fleet_files import configuration_lines, fleet_files
from reconciler.errors import ReconcilerError, UsageError
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.shell.git.repository import Repository
from reconciler.shell.resources import example_files, finish_new_files, taken, write_new_files
from reconciler.shell.root import is_top

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
        raise UsageError(f'"{place}" is a file; name a folder')
    finished = finish_new_files(place)
    if finished:
        count = f"{len(finished)} file{'s' if len(finished) != 1 else ''}"
        click.echo(f"went on with an init that was cut off: {count} in {printable(str(place))}")
        return 0
    manifests = place.is_dir() and _holds_manifests(place)
    usual = FleetOptions(
        apis=tuple(APIS), examples=not manifests, ci=_forge(place), delivery="none"
    )
    if asked == FleetOptions() and sys.stdin.isatty() and sys.stdout.isatty():
        asked = _questions(usual)
    choice = _choice(asked, usual, folders=not manifests)
    files = fleet_files(example_files(), choice)
    left = taken(place, files)
    written = {path: data for path, data in files.items() if path not in left}
    try:
        write_new_files(place, written)
    except NotADirectoryError:
        raise UsageError(f'"{place}" lies below a file; name another folder') from None
    _tell(place, choice, written, left)
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
        raise click.UsageError(f"name one or more of {CHOICES}")
    return named


def _holds_manifests(folder: Path) -> bool:
    """Return whether a fleet is there already: manifests, valid or not, beside a configuration."""
    from reconciler.cli.printing.progress import tracked
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
        click.echo(f"the example repository is in {shown}; its README.md leads through it")
    else:
        for path in sorted(written):
            click.echo(f"wrote {printable(str(folder / path))}")
    for path in left:
        click.echo(f"left alone {printable(str(folder / path))}: something is there")
    if CONFIGURATION_PATH in left and choice.transports:
        click.echo(
            f"for delivery, add to {CONFIGURATION_PATH}:\nspec:\n{configuration_lines(choice)}",
            nl=False,
        )
    if choice.forges and not is_top(folder) and _is_below_a_top(folder):
        click.echo(
            "a forge runs pipelines only from the top of a repository: move those of this folder "
            "there, or make a repository of it",
            err=True,
        )


def _is_below_a_top(folder: Path) -> bool:
    """Return whether a folder is within a checkout."""
    return any(is_top(above) for above in folder.resolve().parents)
