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
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import click

from reconciler.cli.progress import telling
from reconciler.errors import ReconcilerError, UsageError
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
                f"this is a mistake in reconciler itself ({type(error).__name__}); "
                "please report it with what RECONCILER_DEBUG=1 prints"
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
    "Begin": {
        "demo": "Show the main job on a scratch repository, step by step.",
        "init": "Write the files of a fleet: the example, or a part of it.",
        "import": "Write what kubectl prints of a live control plane into files.",
        "check": "Try what the daemon needs: git, access, keys, clock, permissions.",
    },
    "Ask": {
        "get": "Print objects of the repository: clusters, bindings, policies, rebalancers, ...",
        "describe": "Print all that is known of an object: fields, conditions, decision, events.",
        "status": "Print how a repository stands: last pass, faults, suspended, rebalancers.",
        "top": "Print what clusters have, what is placed on them, what is free.",
        "tree": "Print what hangs on a policy or a placement, down to the clusters.",
        "events": "Print events as upstream records them, told from the commits.",
        "wait": "Wait until objects are as they are to be: a condition, a value, there or gone.",
        "api-resources": "Print every kind that is read, its names, and who writes it.",
        "explain": "Print what the fields of a kind mean, as its schema has them.",
    },
    "Understand decisions": {
        "why": "Explain for each cluster why an object is there, or why not.",
        "history": "Print what was decided about an object over time, and whose commit caused it.",
        "blame": "Show whose commit put an object on each of its clusters.",
        "verify": "Prove a history: compute each decision again, compare byte for byte.",
        "report": "Write the fleet as one page that can be read offline and sent along.",
    },
    "Look ahead": {
        "validate": "Check manifests, in a repository or in any folder.",
        "plan": "Show what merging a branch would move, and why.",
        "advise": "Say which rebalances are worth it, and what merging them would move.",
        "simulate": "Show what would move if a cluster failed, a workload grew, ...",
        "render": "Print the manifests that an object comes to on its clusters.",
    },
    "Change, by files to commit": {
        "rebalance": "Write a WorkloadRebalancer, and say what it would move.",
        "approve": "Write what approves a stage of a staged update run.",
        "suspend": "Leave an object, or everything, where it is.",
        "resume": "Let what was suspended be scheduled again.",
        "scale": "Set the replicas of workloads in their files, and say what it would move.",
        "label": "Set or remove labels of objects in their files, and say what it would move.",
        "cordon": "Keep clusters from taking anything new, by a taint in their files.",
        "drain": "Move everything away from clusters, and say what is left on them.",
        "uncordon": "Let clusters that were cordoned or drained take something new again.",
        "scores": "Write scores of clusters from a table, or from what is free on them.",
        "taint": "Set or remove taints of clusters in their files, and say what it would move.",
    },
    "Run": {
        "reconcile": "Run one pass: decide, commit, move the branch.",
        "run": "Run the daemon: a pass whenever the branch moves or a moment comes.",
        "serve": "Serve the page of a branch, for people to look at; it only reads.",
    },
    "Beside": {
        "schema": "Print the JSON Schema of a kind, or of all, for editors.",
        "completion": "Print the completion script of bash, zsh or fish.",
        "version": "Print the version.",
    },
}
"""Title of a group to its verbs, each with its line; a file in `cli/verbs` is loaded when used."""

FILES: Mapping[str, str] = {
    "Begin": "begin",
    "Ask": "ask",
    "Understand decisions": "understand",
    "Look ahead": "look_ahead",
    "Change, by files to commit": "change",
    "Run": "run",
    "Beside": "beside",
}
"""Title of a group to the file in `cli/verbs` that declares its verbs."""

VERBS: Mapping[str, str] = {verb: line for group in GROUPS.values() for verb, line in group.items()}
"""Verb to its line, of all groups."""


COMMIT = "put the manifest into a file and commit it, and the next pass heeds it"
NO_SERVER = "there is no API server: the repository is it"
IN_CLUSTER = "pods are in the clusters: ask one of them with kubectl --context"
NEW_CLUSTER = "write the manifest of the cluster into a file below clusters/ and commit it"
NO_CLUSTER = (
    "remove the file of the cluster and commit; "
    "reconciler simulate --remove NAME says first what would move"
)
BY_HAND = "edit its file and commit"

ANSWERS: Mapping[str, str] = {
    "addons": f"{NO_SERVER}; what an add-on reports, such as scores, comes from files",
    "annotate": f"{BY_HAND}; reconciler label changes labels",
    "api-versions": "reconciler api-resources lists every kind with its version",
    "apply": f"{COMMIT}; reconciler plan says first what it would move",
    "attach": f"{IN_CLUSTER}; reconciler get says which have it",
    "auth": "the forge and the keys settle who may write; reconciler check tries access",
    "autoscale": "write a HorizontalPodAutoscaler into a file; reconciler scale sets replicas once",
    "certificate": NO_SERVER,
    "cluster-info": "reconciler status says how all stands, reconciler get clusters what there is",
    "config": "-C DIR says which repository is asked, reconciler.yaml what decisions depend on",
    "cp": IN_CLUSTER,
    "create": f"{COMMIT}; reconciler explain KIND says what it may hold",
    "debug": f"{IN_CLUSTER}; reconciler why says why an object is where it is",
    "deinit": "stop the daemon, and remove the folder of outputs with a commit",
    "delete": (
        "remove its file, or its document in the file, and commit; "
        "reconciler plan says first what that would move"
    ),
    "edit": (
        "open its file, which reconciler describe names, and commit it; "
        "reconciler plan --worktree says what that would move"
    ),
    "exec": IN_CLUSTER,
    "expose": "write a Service into a file and commit it",
    "interpret": "reconciler validate checks a customization in its file",
    "join": NEW_CLUSTER,
    "kustomize": "commit what kustomize build prints: files are read as they stand",
    "logs": f"{IN_CLUSTER}; reconciler events tells what was decided, and why",
    "options": "reconciler --help lists those of all verbs",
    "patch": f"{BY_HAND}; reconciler scale, label, taint and cordon edit a line of it",
    "plugin": "there are none; docs/extending.md says how filters, scores and dialects are added",
    "port-forward": IN_CLUSTER,
    "promote": "reconciler import takes objects of a cluster over into files",
    "proxy": f"{NO_SERVER}; reconciler serve shows a page",
    "register": NEW_CLUSTER,
    "replace": COMMIT,
    "rollout": (
        "git revert undoes a decision or an edit, reconciler history lists them, "
        "reconciler rebalance schedules afresh, reconciler suspend and resume pause and go on"
    ),
    "set": f"{BY_HAND}; reconciler scale and reconciler label edit a line of it",
    "token": NO_SERVER,
    "unjoin": NO_CLUSTER,
    "unregister": NO_CLUSTER,
}
"""Verb to what does it here, which follows "there is no verb ...; " in a sentence."""
