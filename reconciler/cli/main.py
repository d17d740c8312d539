"""The `reconciler` command: its verbs by name, common options, and how it ends.

`--help` lists the verbs in groups. For a verb of kubectl or karmadactl that is not here, the answer
is the file or the other verb that does the same.

Exit codes: 0 done; 1 the answer is no (faults found, a race lost, a remote refused); 2 the command
was given something that it cannot work with; 130 interrupted.

Source: kubectl pkg/cmd/cmd.go `NewKubectlCommand`; karmada pkg/karmadactl/karmadactl.go.
"""

import atexit
import importlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import FrameType

import click

from reconciler.cli.progress import telling
from reconciler.errors import ReconcilerError, UsageError
from reconciler.model.records import dataclass
from reconciler.shell.processes.limits import collect_seldom, limit_met
from reconciler.shell.processes.signals import ENDING, handle_ending, is_main_thread
from reconciler.version import __version__

ELSEWHERE = {
    "adopt": "import",
    "diff": "plan",
    "list": "get",
    "ls": "get",
    "sync": "reconcile",
}
"""What other commands call a verb, to ours."""

Handler = Callable[[int, FrameType | None], object] | int
"""What a signal does: a function, or one of the numbers of `signal`."""

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def place_of(verb: str) -> tuple[str, str]:
    """Return the file of a verb, which is that of its group, and its function there."""
    group = next(title for title, verbs in GROUPS.items() if verb in verbs)
    return FILES[group], f"{verb.replace('-', '_')}_command"


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

        from reconciler.model.text import shown

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
Exit codes: 0 success, 1 failure or a negative answer, 2 usage error, 130 interrupted."""


@click.group(cls=Verbs, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-C",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Use DIR as the root  [default: the nearest parent folder with a reconciler.yaml or "
    "outputs, else the top of the checkout]",
)
@click.option(
    "--cache-dir",
    metavar="DIR",
    envvar="RECONCILER_CACHE_DIR",
    help="Cache for parsed manifests of large repositories; off disables it  "
    "[default: ~/.cache/reconciler]",
)
@click.version_option(__version__, prog_name="reconciler", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context, directory: Path | None, cache_dir: str | None) -> None:
    """Multi-cluster scheduling on Git: manifests in, decisions out, one commit per pass."""
    del cache_dir  # see cli/world.py
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
            from reconciler.shell.processes.limits import refusal_of

            _print_error(refusal_of(error))
        case _ if os.environ.get("RECONCILER_DEBUG"):
            raise error
        case _:
            _print_error(
                f"this is a bug in reconciler ({type(error).__name__}); "
                "please report it with the output of RECONCILER_DEBUG=1"
            )
    return 1


def _print_error(message: str) -> None:
    """Print what went wrong as one line; git and file names may hold control characters."""
    try:
        from reconciler.model.text import printable

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


GROUPS: Mapping[str, Mapping[str, str]] = {
    "Get started": {
        "demo": "Walk through failover and rebalancing in a scratch repository.",
        "init": "Create the files of a new fleet, with or without examples.",
        "import": "Import objects from a live control plane.",
        "check": "Check the daemon's prerequisites: git, access, keys, clock, permissions.",
    },
    "Inspect": {
        "get": "List or print objects: clusters, bindings, policies, rebalancers, ...",
        "describe": "Show the details of an object: fields, conditions, decision, events.",
        "status": "Show the state of a repository: last pass, faults, suspensions, rebalancers.",
        "top": "Show capacity, usage and free room of clusters, or usage of quotas.",
        "tree": "Show everything under a policy or placement, down to the clusters.",
        "events": "Show events as upstream records them, derived from commits.",
        "wait": "Wait for a condition, a value, creation or deletion.",
        "api-resources": "List supported kinds, their names, and who writes them.",
        "explain": "Document the fields of a kind, from its schema.",
    },
    "Understand decisions": {
        "why": "Explain for each cluster why an object runs there or not.",
        "history": "Show the decisions on an object over time, and the commits behind them.",
        "blame": "Show which commit put an object on each of its clusters.",
        "verify": "Verify a history by recomputing each decision, byte for byte.",
        "report": "Write the fleet to a single page for offline reading and sharing.",
    },
    "Look ahead": {
        "validate": "Validate manifests, in a repository or in any folder.",
        "plan": "Show what merging a change would move, and why.",
        "advise": "Recommend worthwhile rebalances, and show what they would move.",
        "simulate": "Show what would move if a cluster failed, a workload grew, ...",
        "render": "Print the manifests rendered for each cluster.",
    },
    "Make changes (as files to commit)": {
        "rebalance": "Write a WorkloadRebalancer, and show what it would move.",
        "approve": "Approve a stage of a staged update run.",
        "rollout": "Approve, stop, resume or roll back a change that is delivered in stages.",
        "undo": "Take a decision or an edit back: its causes, and the objects it moved.",
        "suspend": "Stop scheduling an object, or everything; placements stay as they are.",
        "resume": "Resume scheduling of what was suspended.",
        "scale": "Set the replicas of workloads, and show what it would move.",
        "label": "Set or remove labels of objects, and show what it would move.",
        "cordon": "Mark clusters as unschedulable for new workloads.",
        "drain": "Move all workloads off clusters, and show what remains.",
        "uncordon": "Make cordoned or drained clusters schedulable again.",
        "scores": "Write cluster scores from a table, or from free capacity.",
        "taint": "Set or remove taints of clusters, and show what it would move.",
    },
    "Run": {
        "reconcile": "Run one pass: decide and commit.",
        "run": "Run the daemon: a pass whenever the branch moves or a timer expires.",
        "serve": "Serve a read-only web page of a branch.",
        "observe": "Watch clusters, and commit what they report: health, room, workloads.",
        "publish": "Bring published profiles and decisions onto a hub.",
    },
    "Other commands": {
        "schema": "Print the JSON Schema of one or all kinds, for editors.",
        "completion": "Print the shell completion script for bash, zsh or fish.",
        "version": "Print the version.",
    },
}
"""Title of a group to its verbs, each with its line; a file in `cli/verbs` is loaded when used."""

FILES: Mapping[str, str] = {
    "Get started": "begin",
    "Inspect": "ask",
    "Understand decisions": "understand",
    "Look ahead": "look_ahead",
    "Make changes (as files to commit)": "change",
    "Run": "run",
    "Other commands": "beside",
}
"""Title of a group to the file in `cli/verbs` that declares its verbs."""

VERBS: Mapping[str, str] = {verb: line for group in GROUPS.values() for verb, line in group.items()}
"""Verb to its line, of all groups."""


COMMIT = "put the manifest into a file and commit it; the next pass picks it up"
NO_SERVER = "there is no API server; the repository takes its place"
IN_CLUSTER = "pods run in the member clusters; use kubectl --context"
NEW_CLUSTER = "write the manifest of the cluster to a file under clusters/ and commit it"
NO_CLUSTER = (
    "delete the file of the cluster and commit; "
    "reconciler simulate --remove NAME shows first what would move"
)
BY_HAND = "edit its file and commit"

ANSWERS: Mapping[str, str] = {
    "addons": f"{NO_SERVER}; reports of add-ons, such as scores, come from files",
    "annotate": f"{BY_HAND}; reconciler label changes labels",
    "api-versions": "reconciler api-resources lists every kind with its version",
    "apply": f"{COMMIT}; reconciler plan shows first what it would move",
    "attach": f"{IN_CLUSTER}; reconciler get shows which clusters run it",
    "auth": "write access is controlled by the forge and signing keys; reconciler check tests it",
    "autoscale": "write a HorizontalPodAutoscaler into a file; reconciler scale sets replicas once",
    "certificate": NO_SERVER,
    "cluster-info": "reconciler status shows the overall state, reconciler get the objects",
    "config": "-C DIR selects the repository, reconciler.yaml configures decisions",
    "cp": IN_CLUSTER,
    "create": f"{COMMIT}; reconciler explain KIND documents its fields",
    "debug": f"{IN_CLUSTER}; reconciler why explains placements",
    "deinit": "stop the daemon, and delete the output folder in a commit",
    "delete": (
        "remove its file, or its document in the file, and commit; "
        "reconciler plan shows first what that would move"
    ),
    "edit": (
        "open its file, which reconciler describe names, and commit it; "
        "reconciler plan --worktree shows what that would move"
    ),
    "exec": IN_CLUSTER,
    "expose": "write a Service into a file and commit it",
    "interpret": "reconciler validate checks a customization in its file",
    "join": NEW_CLUSTER,
    "kustomize": "commit the output of kustomize build; files are read as they are",
    "logs": f"{IN_CLUSTER}; reconciler events shows what was decided, and why",
    "options": "reconciler --help lists the global options",
    "patch": f"{BY_HAND}; reconciler scale, label, taint and cordon edit a line of it",
    "plugin": "there are no plugins; docs/extending.md covers new filters, scores and dialects",
    "port-forward": IN_CLUSTER,
    "promote": "reconciler import writes the objects of a cluster to files",
    "proxy": f"{NO_SERVER}; reconciler serve serves a web page",
    "register": NEW_CLUSTER,
    "replace": COMMIT,
    "set": f"{BY_HAND}; reconciler scale and reconciler label edit a line of it",
    "token": NO_SERVER,
    "unjoin": NO_CLUSTER,
    "unregister": NO_CLUSTER,
}
"""Verb to what does it here, which follows "there is no verb ...; " in a sentence."""
