"""Options that several verbs share, and the objects that they stand for.

Options that belong together reach a verb as one object. They say where the outputs are (folder and
branch), in which namespace an object is, which branch is served, how git gets into a remote, and
what is printed: a format, a user's template, or several reports as `-o FORMAT[=FILE]`. Secrets of
remotes come from files or the environment only.

The cache folder has what can be made again: mirrors, parsed documents, records of proofs. Spans of
time are written as for kubectl: `90s`, `1h30m`, `0`. `plan --fail-on` names what a pipeline does
not let through, and whether a preview has it; `wait --for` has a type of its own.
"""

import functools
import os
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import complete
from reconciler.errors import UsageError
from reconciler.manifests.identity import DEFAULT_NAMESPACE
from reconciler.model.identity import OUTPUT_ROOT, RepositoryLayout
from reconciler.model.late import late, late_value
from reconciler.model.records import dataclass, field_names

if TYPE_CHECKING:
    from reconciler.audit.previews.preview import Preview
    from reconciler.cli.wait import AwaitedState
    from reconciler.shell.git.remotes.remote import Access
    from reconciler.shell.git.repository import CommitIdentity


Option = Callable[[Callable[..., int]], Callable[..., int]]


def gathered(
    function: Callable[..., int], name: str, kind: Callable[..., object], options: Sequence[Option]
) -> Callable[..., int]:
    """Add options to a verb, which gets all their values as one object.

    Args:
        function: The verb.
        name: Its argument.
        kind: A dataclass with a field for each option; one without its option has a default.
        options: In the order in which `--help` lists them; one may be a group itself, whose object
            is then one of the values.
    """
    return with_options(_gathering(function, name, lambda: kind), options)


def gathers(name: str, module: str, kind: str) -> Option:
    """Return what hands a verb those of its options as one object that are fields of a dataclass.

    The class is imported when the verb is asked for.
    """
    return lambda function: _gathering(function, name, late_value(module, kind))


def _gathering(
    function: Callable[..., int], name: str, kind: Callable[[], Callable[..., object]]
) -> Callable[..., int]:
    @functools.wraps(function)
    def verb(*arguments: object, **named: Any) -> int:
        values = {name: named.pop(name) for name in field_names(kind()) if name in named}
        return function(*arguments, **{name: kind()(**values)}, **named)

    return verb


def runs(
    module: str, function: str = "run", **given: object
) -> Callable[[Callable[[], None]], Callable[..., int]]:
    """Return what makes a verb of its declaration: a function of a module, imported late, works.

    It gets the root first, where the verb takes one, then all arguments and options by name: so its
    signature stands once, there. `given` is what the verb itself says.
    """
    work: Callable[..., int] = late(module, function)

    def declare(verb: Callable[[], None]) -> Callable[..., int]:
        return functools.update_wrapper(partial(work, **given), verb)

    return declare


def with_options(function: Callable[..., int], options: Sequence[Option]) -> Callable[..., int]:
    """Add options to a verb, in the order in which `--help` lists them."""
    for option in reversed(options):
        function = option(function)
    return function


def _settle_root(context: click.Context, _parameter: click.Parameter, folder: str) -> str:
    """Hand the verb the root: the folder of `-C`, or else the one that is found from here."""
    check_output_root(folder)
    if context.obj is None:
        from reconciler.shell.resources import find_root

        context.obj = find_root(Path(), RepositoryLayout(output_root=folder))
    return folder


def _checked(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    """Return the name of a branch, if git may take it for one."""
    if name is None:
        return None
    from reconciler.shell.git.repository import check_branch  # late: validate goes without git

    return check_branch(name)


LAYOUT_OPTIONS = (
    click.option(
        "--output-root",
        metavar="DIR",
        envvar="RECONCILER_OUTPUT_ROOT",
        default=OUTPUT_ROOT,
        show_default=True,
        callback=_settle_root,
        help="Folder under the root for the outputs of passes.",
    ),
    click.option(
        "--output-branch",
        metavar="NAME",
        envvar="RECONCILER_OUTPUT_BRANCH",
        shell_complete=complete.branches,
        callback=_checked,
        help="Branch for outputs, if different from the branch of the inputs.",
    ),
)


def layout_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options; every verb about a repository gets them as its `layout`.

    The root is found by its outputs, so a verb that has these options has a root.
    """
    return gathered(function, "layout", RepositoryLayout, LAYOUT_OPTIONS)


def check_output_root(folder: str) -> str:
    """Return the folder of outputs if it is a plain folder inside of the repository.

    Raises:
        UsageError: It is not.
    """
    from reconciler.model.text import shown

    parts = folder.split("/")
    if not all(part.isprintable() and part.strip(". ") and "\\" not in part for part in parts):
        raise UsageError(f"--output-root {shown(folder)} must be a folder inside the repository")
    if any(part.startswith(".") for part in parts):
        raise UsageError(f"--output-root {shown(folder)} must not begin with a dot")
    return folder


def namespace_option(function: Callable[..., int]) -> Callable[..., int]:
    """Add `-n`, as kubectl has it."""
    return click.option(
        "-n",
        "--namespace",
        metavar="NS",
        default=DEFAULT_NAMESPACE,
        show_default=True,
        shell_complete=complete.namespaces,
    )(function)


CREDENTIAL = "RECONCILER_CREDENTIAL"
REMOTE_TIMEOUT_SECONDS = 120.0  # a first fetch of a large repository takes a minute


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """What lets git into a remote, and how long a command may take; `None` leaves it to git."""

    credential_file: Path | None
    ca_file: Path | None
    ssh_key_file: Path | None
    known_hosts_file: Path | None
    remote_timeout_seconds: float

    @property
    def files(self) -> tuple[str, ...]:
        """Return the options that name a file."""
        named = {
            "--credential-file": self.credential_file,
            "--ca-file": self.ca_file,
            "--ssh-key-file": self.ssh_key_file,
            "--known-hosts-file": self.known_hosts_file,
        }
        return tuple(option for option, file in named.items() if file is not None)

    def read(self) -> "Access":
        """Return it with the credential of the environment."""
        from reconciler.shell.git.remotes.remote import Access

        return Access(
            credential=os.environ.get(CREDENTIAL, ""),
            credential_file=self.credential_file,
            ca_file=self.ca_file,
            ssh_key_file=self.ssh_key_file,
            known_hosts_file=self.known_hosts_file,
        )


def _file(name: str, variable: str, says: str) -> Option:
    return click.option(
        name, metavar="FILE", envvar=variable, type=click.Path(path_type=Path), help=says
    )


ACCESS_OPTIONS = (
    _file(
        "--credential-file",
        f"{CREDENTIAL}_FILE",
        f"File with USER:PASSWORD or Bearer TOKEN for https, reread on use  [or: ${CREDENTIAL}]",
    ),
    _file(
        "--ca-file",
        "RECONCILER_CA_FILE",
        "CA certificates (PEM) for https, instead of those of the system.",
    ),
    _file("--ssh-key-file", "RECONCILER_SSH_KEY_FILE", "Private key for ssh."),
    _file(
        "--known-hosts-file",
        "RECONCILER_KNOWN_HOSTS_FILE",
        "Host keys accepted by ssh, instead of the user's known_hosts.",
    ),
    click.option(
        "--remote-timeout-seconds",
        type=click.FloatRange(min=1.0),
        envvar="RECONCILER_REMOTE_TIMEOUT_SECONDS",
        default=REMOTE_TIMEOUT_SECONDS,
        show_default=True,
        help="Timeout of a fetch or push.",
    ),
)


def access_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that let git into a remote; the verb gets them as its `access`."""
    return gathered(function, "access", RemoteAccess, ACCESS_OPTIONS)


FIRST_YEAR, LAST_YEAR = 1970, 2999  # ours: leaves room for every timeout that is added


class Moment(click.ParamType[datetime]):
    """A moment in RFC 3339, such as 2026-01-02T15:04:05Z."""

    name = "moment"

    def convert(
        self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Parse it."""
        if isinstance(value, datetime):
            return value
        from reconciler.model.moments import parse_moment
        from reconciler.model.text import shown

        try:
            moment = parse_moment(value)
        except ValueError:
            self.fail(f"{shown(value)} must be a time such as 2026-01-02T15:04:05Z", param, ctx)
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            years = f"{FIRST_YEAR} to {LAST_YEAR}"
            self.fail(f"{shown(value)} must be a time in the years {years}", param, ctx)
        return moment


@dataclass(frozen=True, slots=True)
class Service:
    """Which branch is served, and who commits.

    `branch` of `None` is the one that is checked out, `remote` of `None` a checkout here,
    `mirror` of `None` a folder below the user's cache.
    """

    branch: str | None
    remote: str | None
    mirror: Path | None
    access: RemoteAccess
    layout: RepositoryLayout
    author: str


at_option = click.option(
    "--at",
    metavar="REV",
    default="HEAD",
    show_default=True,
    shell_complete=complete.revisions,
    help="Revision to read.",
)
"""Which revision a question is about."""

read_branch_option = click.option(
    "--branch",
    metavar="NAME",
    envvar="RECONCILER_BRANCH",
    shell_complete=complete.branches,
    help="Branch to read  [default: HEAD]",
)
"""Which branch is followed."""

poll_option = click.option(
    "--poll-seconds",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="Poll at least this often.",
)


class Format(click.Choice[str]):
    """One of some formats; `md` is short for markdown where that is one of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read it."""
        short = {"md": "markdown"}.get(value, value)
        return super().convert(short if short in self.choices else value, param, ctx)


def output_option(*formats: str, says: str = "Output format.") -> Option:
    """Return the option `-o` that chooses among formats, the first by default."""
    return click.option(
        "-o",
        "output",
        type=Format(formats),
        default=formats[0],
        show_default=True,
        help=says,
    )


def here() -> Path:
    """Return the folder from which a person names paths: that of `-C`, or the present one."""
    named: Path | None = click.get_current_context().find_root().params["directory"]
    return named or Path()


SERVICE_OPTIONS = (
    click.option(
        "--branch",
        metavar="NAME",
        shell_complete=complete.branches,
        envvar="RECONCILER_BRANCH",
        help="Branch to serve  [default: the checked-out branch, or main with --remote]",
    ),
    click.option(
        "--remote",
        metavar="URL",
        envvar="RECONCILER_REMOTE",
        help="Serve this remote through a local mirror instead of a checkout.",
    ),
    click.option(
        "--mirror",
        metavar="DIR",
        envvar="RECONCILER_MIRROR",
        type=click.Path(path_type=Path),
        help="Folder for the mirror of --remote  [default: ~/.cache/reconciler/...]",
    ),
    access_options,
    layout_options,
    click.option(
        "--author",
        metavar="'NAME <EMAIL>'",
        envvar="RECONCILER_AUTHOR",
        default="reconciler <reconciler@localhost>",
        show_default=True,
        help="Author of commits.",
    ),
)


def service_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say which branch is served; the verb gets them as its `service`."""
    return gathered(function, "service", Service, SERVICE_OPTIONS)


def parse_author(text: str) -> "CommitIdentity":
    """Return the identity that `NAME <EMAIL>` names."""
    from reconciler.model.text import shown
    from reconciler.shell.git.repository import CommitIdentity, check_identity

    name, bracket, rest = text.partition(" <")
    if not bracket or not rest.endswith(">"):
        raise UsageError(f"--author {shown(text)} must be NAME <EMAIL>")
    try:
        return check_identity(CommitIdentity(name.strip(), rest[:-1]))
    except ValueError as error:
        raise UsageError(f"--author: {error}") from None


JSONPATH, COLUMNS = "jsonpath=", "custom-columns="
EXAMPLES = {
    JSONPATH: "jsonpath='{.metadata.name}'",
    COLUMNS: "custom-columns=NAME:.metadata.name,REPLICAS:.spec.replicas",
}


def is_template(output: str) -> bool:
    """Return whether objects are to be printed by a template."""
    return output.startswith((JSONPATH, COLUMNS))


class TemplateOrFormat(Format):
    """One of some formats, or a template behind `jsonpath=` or `custom-columns=`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read it, and refuse a template that is none."""
        for start, example in EXAMPLES.items():
            if value == start.removesuffix("="):
                self.fail(f"{value} needs a template: -o {example}", param, ctx)
            if value.startswith(start):
                try:
                    _parser(start)(value.removeprefix(start))
                except ValueError as error:
                    self.fail(f"{value} {error}; an example is -o {example}", param, ctx)
                return str(value)
        return super().convert(value, param, ctx)


def _parser(start: str) -> Callable[[str], object]:
    from reconciler.manifests.json_path import parse_columns, parse_template

    return parse_template if start == JSONPATH else parse_columns


OFF = "off"


def user_cache() -> Path:
    """Return our folder below the user's cache.

    Raises:
        RuntimeError: The user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "reconciler"


def chosen_cache() -> str | None:
    """Return what a person chose as our folder, `None` for nothing."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_root().params.get("cache_dir")


def cache_folder() -> Path | None:
    """Return where things are kept from one command to the next, `None` if nothing is."""
    chosen = chosen_cache()
    if chosen == OFF:
        return None
    try:
        return Path(chosen) if chosen else user_cache()
    except RuntimeError:
        return None


LONGEST_SECONDS = 7 * 24 * 3600.0
"""Of a span that is below zero, as kubectl has it: a week."""

NANOSECONDS = 10**9


class TimeSpan(click.ParamType[float]):
    """A span of time, in seconds; one below zero is a week."""

    name = "span"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse it."""
        if isinstance(value, float):
            return value
        from reconciler.errors import UserError
        from reconciler.manifests.durations import parse_duration
        from reconciler.model.text import shown

        try:
            seconds = parse_duration(str(value)) / NANOSECONDS
        except UserError:
            self.fail(f"{shown(str(value))} must be a duration such as 90s or 5m", param, ctx)
        return seconds if seconds >= 0 else LONGEST_SECONDS


_SPAN = re.compile(r"(?:\d+(?:\.\d+)?(?:d|h|m|s))+", re.ASCII)
_DAYS = re.compile(r"(\d+(?:\.\d+)?)d", re.ASCII)


@dataclass(frozen=True, slots=True)
class Since:
    """From where on something is told: after a revision, or in the last seconds before now.

    Exactly one of them is set.
    """

    revision: str | None = None
    seconds: float | None = None

    def begin(self, now: datetime) -> datetime | None:
        """Return the moment from which on something is told, `None` where a revision says it."""
        from reconciler.model.moments import add, span

        return None if self.seconds is None else add(now, -span(seconds=int(self.seconds)))


class SinceType(click.ParamType[Since]):
    """A span such as 1h or 2d12h, or a revision; a branch named like a span is refs/heads/1h."""

    name = "since"

    def convert(
        self, value: str | Since, param: click.Parameter | None, ctx: click.Context | None
    ) -> Since:
        """Parse it."""
        if isinstance(value, Since):
            return value
        if _SPAN.fullmatch(value) is None:
            return Since(revision=value)
        days = sum(float(number) for number in _DAYS.findall(value))
        rest = _DAYS.sub("", value)
        seconds = TimeSpan().convert(rest, param, ctx) if rest else 0.0
        return Since(seconds=days * DAY_SECONDS + seconds)


DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Output:
    """One report: its format, and its file; `None` is standard output."""

    format: str
    file: Path | None = None

    def write(self, text: str) -> None:
        """Write the report.

        Raises:
            UsageError: The file cannot be written.
        """
        if self.file is None:
            click.echo(text, nl=False)
            return
        try:
            self.file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f'"{self.file}" cannot be written: {error.strerror}') from None


class OutputOption(click.ParamType[Output]):
    """One FORMAT, or FORMAT=FILE."""

    name = "output"

    def __init__(self, formats: Sequence[str]) -> None:
        self._formats = formats

    def convert(
        self, value: str | Output, param: click.Parameter | None, ctx: click.Context | None
    ) -> Output:
        """Parse it."""
        if isinstance(value, Output):
            return value
        name, equals, file = value.partition("=")
        if name not in self._formats:
            self.fail(f"{name!r} is not one of {', '.join(self._formats)}", param, ctx)
        if equals and not file:
            self.fail(f"{value!r} must be followed by a file", param, ctx)
        return Output(name, Path(file) if file else None)


def check_outputs(outputs: Sequence[Output]) -> None:
    """Refuse two reports at one place.

    Raises:
        UsageError: Two of them go to standard output, or to one file.
    """
    places = [output.file for output in outputs]
    twice = next((place for i, place in enumerate(places) if place in places[:i]), "")
    if twice is None:
        raise UsageError("two formats cannot share standard output, use -o FORMAT=FILE for one")
    if twice:
        raise UsageError(f'two formats cannot share the file "{twice}"')


EXIT_FORBIDDEN = 3
"""Exit code of a preview that has what it must not have."""

LAZY_PLACES = "lazy-places"
_MOVES = re.compile(r"moves>(\d{1,9})", re.ASCII)
REMOVED, STUCK, LAZY = "removed", "unschedulable", "lazy"
FAULTS, WARNINGS = "faults", "warnings"
NAMED_CONDITIONS = (STUCK, REMOVED, LAZY, FAULTS, WARNINGS)
_ONE_LAZY = "policy that is newly Lazy and places"


@dataclass(frozen=True, slots=True)
class Forbidden:
    """One condition as it was written; `moves` is the most that may move, `None` of the others."""

    text: str
    moves: int | None = None

    def found_in(self, preview: "Preview") -> str:
        """Return what a preview has of it, `""` if nothing."""
        from reconciler.audit.previews.preview import moves_in

        if self.moves is not None:
            count = moves_in(preview.entries)
            return _counted(count, "move") if count > self.moves else ""
        if self.text == LAZY:
            count = sum(one.rule == LAZY_PLACES for one in preview.warnings)
            what = "policies that are newly Lazy and place" if count != 1 else _ONE_LAZY
            return f"{count} {what} workloads at once" if count else ""
        if self.text in (FAULTS, WARNINGS):
            count = len(preview.faults if self.text == FAULTS else preview.warnings)
            return _counted(count, self.text.removesuffix("s")) if count else ""
        counts = preview.counts
        count = counts.removed if self.text == REMOVED else counts.stuck
        if self.text == REMOVED and not count and _is_braked(preview):
            return "removals that are held back"
        return f"{_counted(count, 'object')} {self.text}" if count else ""


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"


def _is_braked(preview: "Preview") -> bool:
    """Return whether a pass would remove so much that it does not, until it is allowed."""
    from reconciler.core.safety import REMOVAL_BRAKED

    return any(fault.rule == REMOVAL_BRAKED for fault in preview.faults)


class ForbiddenType(click.ParamType[tuple[Forbidden, ...]]):
    """Conditions of `--fail-on`, separated by commas."""

    name = "condition"

    def convert(
        self,
        value: str | tuple[Forbidden, ...],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[Forbidden, ...]:
        """Read them."""
        if isinstance(value, tuple):
            return value
        from reconciler.model.text import shown

        words = []
        for part in value.replace(" ", "").split(","):
            match = _MOVES.fullmatch(part)
            if match is None and part not in NAMED_CONDITIONS:
                *names, last = ("moves>N", *NAMED_CONDITIONS)
                self.fail(f"{shown(part)} must be {', '.join(names)} or {last}", param, ctx)
            words.append(Forbidden(part, None if match is None else int(match[1])))
        return tuple(words)


def report_forbidden(preview: "Preview", conditions: Sequence[Forbidden]) -> bool:
    """Say on standard error which conditions a preview meets; return whether it meets any."""
    met = [(option, option.found_in(preview)) for option in dict.fromkeys(conditions)]
    for option, count in met:
        if count:
            click.echo(f"reconciler: --fail-on {option.text}: the plan has {count}", err=True)
    return any(count for _, count in met)


class Awaited(click.ParamType["AwaitedState"]):
    """What is waited for."""

    name = "state"

    def convert(
        self,
        value: "str | AwaitedState",
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> "AwaitedState":
        """Parse it."""
        if not isinstance(value, str):
            return value
        from reconciler.cli.wait import parse_awaited

        try:
            return parse_awaited(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


tolerance_option = click.option(
    "--tolerance",
    metavar="PERCENT",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    help="Ignore changes of cluster capacity up to this percentage.",
)
