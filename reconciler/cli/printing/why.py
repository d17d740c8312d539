"""What `reconciler why` prints, and what it says where there is nothing to explain."""

import difflib
from pathlib import Path

import click

from reconciler.audit.named_object import near, spelled
from reconciler.audit.printable import printable
from reconciler.audit.reasons import Why
from reconciler.audit.short_id import short_id
from reconciler.cli.objects.subject import AskedObject, open_subject
from reconciler.cli.printing.decision_words import by_whom, placed_text
from reconciler.cli.printing.print_json import print_json, versioned
from reconciler.cli.printing.progress import PASSES, doing
from reconciler.cli.printing.why_json import why_json
from reconciler.cli.printing.why_text import why_text
from reconciler.errors import UsageError
from reconciler.library.subject import Subject
from reconciler.manifests.text.emitter import encode
from reconciler.model.message_text import shown
from reconciler.shell.clock import SystemClock


def run(directory: Path, asked: AskedObject, cluster: str | None) -> int:
    """Print why an object is on its clusters; return the exit code."""
    subject = open_subject(directory, asked)
    with doing(PASSES):
        why = subject.why(SystemClock().now())
    if why.explanation is None:
        _print(asked.output, why, None)
        click.echo(_unanswered(subject, why), err=True)
        return 1
    _check_cluster(why, cluster)
    if asked.output == "text":
        click.echo(why_text(why, cluster))
    _print(asked.output, why, cluster)
    return 0


def _print(output: str, why: Why, cluster: str | None) -> None:
    """Print the answer for machines, if that is asked for."""
    if output == "json":
        print_json(why_json(why, cluster))
    elif output == "yaml":
        click.echo(encode(versioned(why_json(why, cluster))), nl=False)


def _check_cluster(why: Why, cluster: str | None) -> None:
    """Refuse a cluster that nothing is said of."""
    told = [item.clusters for item in (why.then, why.now) if item is not None]
    names = sorted(
        {str(answer.cluster) for answers in told for answer in answers}
        | {str(name) for name, _ in why.placed}
    )
    if cluster is None or cluster in names:
        return
    alike = difflib.get_close_matches(cluster, names, n=3) or names[:3]
    known = f"; near it: {', '.join(alike)}" if alike else ", since no cluster was asked"
    raise UsageError(f"there is no cluster {shown(cluster)} here{known}")


def _unanswered(subject: Subject, why: Why) -> str:
    """Return why there is nothing to explain, and what to do."""
    world, named, event = subject.world, subject.named, why.event
    if why.key not in world.outputs and event is not None:
        short = short_id(event.commit.revision)
        where = "nowhere" if event.after is not None else "at an unknown place"
        return printable(
            f"{spelled(named)} is {where} since {short} ({event.why}; "
            f"{by_whom(event)}); it was {placed_text(event.before)}: "
            f"reconciler why {subject.word} --at {short}~1"
        )
    if named not in world.inputs and named not in world.outputs:
        return printable(f"there is no {spelled(named)}{near(world, named)}")
    if why.key in world.outputs:
        put = ""
        if event is not None and event.by_hand:
            put = f"was put on {placed_text(why.placed)} by {by_whom(event)}; it "
        return printable(
            f"{spelled(named)} {put}cannot be explained now: passes are suspended, or its output "
            "cannot be read; see reconciler validate"
        )
    if carriers := subject.carriers():
        return printable(
            f"nothing is decided about {spelled(named)} by itself: {carriers} carries it, "
            "ask about that"
        )
    return printable(
        f"nothing is decided about {spelled(named)}: no policy claims it, "
        "or no pass has run; see reconciler get pp -A, reconciler reconcile --dry-run"
    )
