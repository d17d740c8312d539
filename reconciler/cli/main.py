"""The `reconciler` command: its verbs by name, common options, and how it ends.

Exit codes: 0 done; 1 the answer is no (faults found, a race lost, a remote refused); 2 the command
was given something that it cannot work with; 130 interrupted.
"""

import atexit
import importlib
import keyword
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import click

from reconciler.cli.printing.progress import telling
from reconciler.cli.verb_groups import GROUPS, VERBS
from reconciler.errors import ReconcilerError, UsageError
from reconciler.shell.processes.garbage import collect_seldom
from reconciler.shell.processes.held_signals import ENDING, handle_ending, is_main_thread
from reconciler.shell.processes.machine_limits import limit_met
from reconciler.version import __version__

ELSEWHERE = {
    "adopt": "import",
    "diff": "plan",
    "list": "get",
    "ls": "get",
    "sync": "reconcile",
}
"""What other commands call a verb, to ours."""

BESIDE = {"resume": ("edits.suspend", "resume"), "uncordon": ("edits.cordon", "uncordon_command")}
"""Verbs that stand in the file of another, with their functions."""

EDITS = (
    "advise",
    "approve",
    "cordon",
    "drain",
    "label",
    "rebalance",
    "scale",
    "scores",
    "suspend",
    "taint",
)
"""Verbs whose files are in `cli/verbs/edits`."""

Handler = Callable[[int, FrameType | None], object] | int
"""What a signal does: a function, or one of the numbers of `signal`."""

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def place_of(verb: str) -> tuple[str, str]:
    """Return a verb's file and function; a file named by a word of Python gets an underscore."""
    file = f"{verb}_" if keyword.iskeyword(verb) else verb.replace("-", "_")
    return BESIDE.get(verb, (f"edits.{file}" if verb in EDITS else file, "command"))


class Verbs(click.Group):
    """Loads a verb's file only when it is used, so that --help is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs."""
        del ctx
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one verb."""
        del ctx
        if cmd_name not in VERBS:
            return None
        module, function = place_of(cmd_name)
        command = getattr(importlib.import_module(f"reconciler.cli.verbs.{module}"), function)
        if not isinstance(command, click.Command):
            return None
        # Docstrings are raw, so click's mark for "keep these lines" is still two characters there.
        command.help = (command.help or "").replace("\\b\n", "\b\n")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; of one that is not there, say which one may be meant."""
        word = args[0]
        if word in VERBS or word.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        import difflib

        from reconciler.cli.kubectl_verbs import ANSWERS
        from reconciler.model.message_text import shown

        near = difflib.get_close_matches(word, VERBS, n=2, cutoff=0.7)
        meant = " or ".join([ELSEWHERE[word]] if word in ELSEWHERE else near)
        hint = f"did you mean {meant}?" if meant else "reconciler --help lists them"
        raise UsageError(f"there is no verb {shown(word)}; {ANSWERS.get(word, hint)}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs in their groups, without loading them."""
        del ctx
        widest = max(map(len, VERBS))
        for title, verbs in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(verb.ljust(widest), line) for verb, line in verbs.items()])


EPILOG = """\b
Examples:
  reconciler demo                      see it work
  reconciler validate                  check this folder
  reconciler reconcile --dry-run       what would a pass do here?
  reconciler -C fleet run              serve the checkout in ./fleet
  reconciler get rb -A -o wide         where is everything?
  reconciler why deployment/shop       and why there?
\b
Exit codes: 0 done, 1 the answer is no, 2 wrong usage, 130 interrupted."""


@click.group(cls=Verbs, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-C",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Take DIR for the root  [default: the nearest folder upwards with a reconciler.yaml or "
    "with outputs, else the top of the checkout]",
)
@click.option(
    "--cache-dir",
    metavar="DIR",
    envvar="RECONCILER_CACHE_DIR",
    help="Where parsed manifests of large repositories are kept, off for nowhere  "
    "[default: ~/.cache/reconciler]",
)
@click.version_option(__version__, prog_name="reconciler", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context, directory: Path | None, cache_dir: str | None) -> None:
    """Multi-cluster scheduling on Git: manifests in, decisions out, one commit a pass."""
    del cache_dir  # see cli/options/document_cache.py
    context.obj = directory
    context.color = None if wants_colour() else False  # None leaves it to click: terminals only


def wants_colour() -> bool:
    """Return whether the user's terminal may be sent colours; see https://no-color.org."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit; nothing but a sentence ever reaches the user on failure."""
    ending = Ending()
    atexit.register(ending.leave)  # the first to be registered is the last to be called
    _open_closed_outputs()
    collect_seldom()
    ending.code = run(arguments)
    sys.exit(ending.code)


@dataclass
class Ending:
    """How the process ends: after all others at exit, without the interpreter's own tidying.

    That visits all that the process still holds, to give back what the system takes back at once:
    a tenth of a question about a large fleet; and where memory is used up it prints what it lacks.
    """

    code: int = 1

    def leave(self) -> None:
        """End now, with what was printed."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # its reader has gone, or it is closed
                stream.flush()
        os._exit(self.code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    previous = _end_politely() if is_main_thread() else {}
    try:
        with telling() if wants_colour() else nullcontext():
            result = cli.main(args=arguments, prog_name="reconciler", standalone_mode=False)
    except click.exceptions.Exit as done:
        return done.exit_code
    except SystemExit as done:  # how click ends a completion
        return done.code if isinstance(done.code, int) else 1
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return 1
    except Exception as error:  # noqa: BLE001  # the last resort: no traceback reaches a user
        return _failed(error)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return result if isinstance(result, int) else 0


def _failed(error: Exception) -> int:
    """Print in a sentence what went wrong, and return the exit code that goes with it."""
    match error:
        case UsageError():
            _print_error(str(error))
            return EXIT_USAGE
        case ReconcilerError():
            _print_error(str(error))
        case _ if told := limit_met(error):
            error.__traceback__ = None  # what it holds is memory, too
            _print_error(told)
        case OSError():
            from reconciler.shell.processes.disk import refusal_of

            _print_error(refusal_of(error))
        case _ if os.environ.get("RECONCILER_DEBUG"):
            raise error
        case _:
            _print_error(
                f"this is a mistake in reconciler itself ({type(error).__name__}); "
                "please report it with what RECONCILER_DEBUG=1 prints"
            )
    return 1


def _print_error(message: str) -> None:
    """Print what went wrong as one line; git and file names may hold control characters."""
    try:
        from reconciler.audit.printable import printable

        shown = printable(message)
    except Exception:  # noqa: BLE001  # there is nothing left for that, not even to import it
        shown = ascii(message)
    click.echo(f"reconciler: {shown}", err=True)


def _end_politely() -> "dict[signal.Signals, Handler]":
    """End on SIGTERM and SIGHUP as on Ctrl-C; the daemon installs handlers of its own.

    Returns:
        What each of the signals did before.
    """
    previous = {number: signal.getsignal(number) for number in ENDING}
    handle_ending(_terminate)
    return {number: handler for number, handler in previous.items() if handler is not None}


def _terminate(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _open_closed_outputs() -> None:
    """Let what is printed to an output that the caller has closed (`>&-`) vanish."""
    # Python has None for such an output, whatever its types say.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # for good


def _discard_output() -> None:
    """Let the interpreter end quietly after the reader of our output has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
