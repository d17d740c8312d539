"""The operator's settings file: options that are neither given nor in the environment.

When it changes, the command begins anew with them; a file that is broken changes nothing.
"""

import functools
from collections.abc import Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import click

from reconciler.errors import ReconcilerError, UsageError
from reconciler.model.records import dataclass, field, replace

Settings = MutableMapping[str, Any]
RELOAD = -1
"""What a verb answers that ended because its settings have changed."""
OPTION = "settings"
MOST_BYTES = 64 * 1024


@dataclass(slots=True, eq=False)
class Renewal:
    """What a verb takes over when it begins anew.

    Attributes:
        settings: Those that count instead of the file, `None` if the file counts.
        problem: Why the file does not count, `""` if it does.
        signals: Those that came; the very same list each time, or one between two would be lost.
        roots: Those that were served last; the same list each time, too.
    """

    settings: Settings | None = None
    problem: str = ""
    signals: list[int] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)


class ReloadingContext(click.Context):
    """The context of a verb that may have begun anew."""

    def __init__(self, *arguments: Any, renewal: Renewal | None = None, **named: Any) -> None:
        """Remember what is taken over; `None` where the verb begins for the first time."""
        super().__init__(*arguments, **named)
        self.renewal = renewal or Renewal()


class ReloadingCommand(click.Command):
    """A verb that begins anew whenever it answers `RELOAD`."""

    context_class = ReloadingContext

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments: they count again with other settings."""
        self._arguments = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it, again with the settings as they are then, with the last good ones at worst."""
        from reconciler.shell.daemon.watch import refused

        first = renewal_in(ctx)
        answer, good = super().invoke(ctx), ctx.default_map
        ctx.close()
        while answer == RELOAD:
            try:
                answer, good = self._again(ctx, replace(first, settings=None, problem=""))
            except ReconcilerError as error:
                refused(str(error))
                answer, good = self._again(ctx, replace(first, settings=good, problem=str(error)))
        return answer

    def _again(self, ctx: click.Context, renewal: Renewal) -> tuple[Any, Settings | None]:
        """Run it with what is taken over; return its answer, and the settings that it ran with."""
        with self.make_context(
            ctx.info_name, [*self._arguments], parent=ctx.parent, renewal=renewal
        ) as again:
            return super().invoke(again), again.default_map


def renewal_in(ctx: click.Context) -> Renewal:
    """Return what the verb of a context has taken over."""
    return ctx.renewal if isinstance(ctx, ReloadingContext) else Renewal()


def pass_renewal(function: Callable[..., int]) -> Callable[..., int]:
    """Let a verb have what it takes over, as its `renewal`."""

    @functools.wraps(function)
    def verb(*arguments: object, **named: Any) -> int:
        renewal = renewal_in(click.get_current_context())
        return function(*arguments, renewal=renewal, **named)

    return verb


def take_settings(ctx: click.Context, _option: click.Parameter, file: Path | None) -> Path | None:
    """Let the file, or what was last good in it, stand for the options that are not given."""
    if file is not None and not ctx.resilient_parsing:
        last = renewal_in(ctx).settings
        ctx.default_map = read_settings(ctx, file) if last is None else last
    return file


def read_settings(ctx: click.Context, file: Path) -> dict[str, Any]:
    """Return the values of a settings file by the names of the verb's arguments.

    Raises:
        UsageError: It cannot be read, or does not hold options of the verb; it names the line.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap
    from ruamel.yaml.error import YAMLError

    where = f'--settings "{file}"'
    try:
        with file.open(encoding="utf-8") as stream:
            text = stream.read(MOST_BYTES)
        document = YAML().load(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{where} cannot be read: {reason}") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise UsageError(f"{where}{line} must be YAML, each option once") from None
    if document is None:
        return {}
    if not isinstance(document, CommentedMap):
        raise UsageError(f"{where} must be a mapping of options, such as poll-seconds: 60")
    parameters = {name.removeprefix("--"): one for one in ctx.command.params for name in one.opts}
    values = {}
    for name, value in document.items():
        place = f"{where}:{document.lc.key(name)[0] + 1}"
        option = parameters.get(name) if name != OPTION else None
        if option is None or option.name is None:
            options = ", ".join(sorted(parameters.keys() - {OPTION}))
            raise UsageError(f"{place}: `{name}` must be one of {options}")
        values[option.name] = _value(ctx, option, value, f"{place}: `{name}`")
    return values


def _value(ctx: click.Context, option: click.Parameter, value: Any, place: str) -> Any:
    """Return a value as the option takes it."""
    plain = _plain(value)
    takes_list = option.multiple or option.nargs > 1
    if takes_list != isinstance(plain, list):
        raise UsageError(f"{place} must be {'a list' if takes_list else 'a single value'}")
    try:
        option.type_cast_value(ctx, plain)
    except click.BadParameter as error:
        raise UsageError(f"{place}: {error.message}") from None
    return plain


def _plain(value: Any) -> Any:
    """Return what a command line would have: texts, and lists of them."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return str(value)
