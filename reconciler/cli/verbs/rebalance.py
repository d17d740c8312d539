"""`reconciler rebalance`: write a WorkloadRebalancer, and say what it would move."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.edits.delivery import Delivery, delivery_options
from reconciler.cli.objects import complete
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import output_option
from reconciler.errors import UsageError
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.audit.previews.preview import Preview
    from reconciler.core.changes import Change
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World


@click.command(name="rebalance")
@click.argument("targets", nargs=-1, metavar="[TARGET]...", shell_complete=complete.objects)
@click.option("-l", "--selector", metavar="K=V,...", help="Also what has these labels.")
@click.option("--policy", metavar="[NS/]NAME", help="Also what this policy has placed.")
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=complete.namespaces,
    help="Namespace  [default: default]",
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Let --selector mean all namespaces.")
@click.option(
    "--max-moves", metavar="N", type=click.IntRange(1, 2**31 - 1), help="Replicas a batch may move."
)
@click.option(
    "--ttl",
    metavar="SECONDS",
    type=click.IntRange(0, 2**31 - 1),
    help="Remove the rebalancer so long after it has finished  [default: never]",
)
@click.option("--name", metavar="NAME", help="Its name  [default: made of the first target]")
@click.option("--dry-run", is_flag=True, help="Print the manifest and the plan, write nothing.")
@click.option(
    "--base",
    metavar="REV",
    shell_complete=complete.revisions,
    envvar="RECONCILER_BRANCH",
    default="HEAD",
    show_default=True,
    help="Branch that is served: what is planned for, and where a new branch begins.",
)
@output_option("text", "yaml", "json", says="How to print it; yaml is the manifest alone.")
@delivery_options
@layout_options
@click.pass_obj
def command(
    directory: Path,
    /,
    *,
    base: str,
    branch: str | None,
    author: str | None,
    dry_run: bool,
    output: str,
    layout: RepositoryLayout,
    **asked: Any,
) -> int:
    r"""Have workloads scheduled afresh: write a WorkloadRebalancer, and say what it would move.

    TARGET is kind/name of a workload, a binding or a placement. The manifest goes to rebalancers/
    in the checkout, uncommitted, or with --branch onto a new branch; it takes effect once it is
    merged into the branch that is served.

    \b
    Examples:
      reconciler rebalance deployment/shop --dry-run
      reconciler rebalance deployment/shop deployment/frontend --ttl 3600
      reconciler rebalance --policy default/shop --max-moves 5 --branch move-shop
      reconciler rebalance -l tier=web -A -o yaml
    \b
    Exit codes: 0 done, 1 it cannot be written, 2 no such workload, policy or revision.
    """
    from reconciler.cli.edits.demand import RebalanceWords, path_of, rebalancer_of
    from reconciler.cli.objects.object_words import all_objects
    from reconciler.manifests.text.emitter import encode

    delivery, world = _open(directory, base, branch, author, layout)
    asked["targets"] = all_objects(asked["targets"])
    key, body = rebalancer_of(world, RebalanceWords(**asked))
    path = path_of(key)
    _check_readable(world, path)
    if not dry_run:
        delivery.check()
        if branch is None and (directory / path).exists():
            raise UsageError(f'"{path}" exists; give another --name')
    preview, unmatched = _plan(world, key, body)
    said = "nothing is written (--dry-run)"
    if not dry_run:
        said = delivery.deliver({path: encode(body).encode()}, _subject(asked))
    _print(output, body, path, preview, base)
    for line in (*unmatched, said):
        click.echo(line, err=True)
    return 0


def _open(
    directory: Path, base: str, branch: str | None, author: str | None, layout: RepositoryLayout
) -> "tuple[Delivery, World]":
    """Load the world that the rebalancer is written for."""
    from reconciler.cli.objects.world import note_if_empty, open_loader
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.git.revisions import resolve_revision

    repository = Repository.open(directory)
    head = resolve_revision(repository, base)
    loader = open_loader(repository, layout)
    delivery = Delivery(
        directory=directory, repository=repository, base=head, branch=branch, author=author
    )
    world = loader.load(head)
    note_if_empty(directory, world)
    return delivery, world


def _check_readable(world: "World", path: str) -> None:
    """Refuse to write a file that no pass would read."""
    from reconciler.core.inputs.input_files import inputs_in

    if not inputs_in(world)(path):
        raise UsageError(
            f'"{path}" would not be read, since include and exclude in reconciler.yaml leave it '
            "out, or it is in a folder that passes write to; print the manifest with -o yaml "
            "--dry-run and put it where it is read"
        )


def _plan(world: "World", key: "ObjectKey", body: "Body") -> "tuple[Preview, list[str]]":
    """Return what the rebalancer would move, and what it would not find."""
    from reconciler.audit.previews.edits import put
    from reconciler.audit.previews.look_ahead import look_ahead
    from reconciler.core.reconcile import reconcile
    from reconciler.core.record import last_pass
    from reconciler.manifests.paths import output_path
    from reconciler.model.moments import add
    from reconciler.shell.clock import SystemClock

    changed = put(world, {key: body})
    last, clock = last_pass(world.outputs), SystemClock().now()
    now: datetime = clock if last is None else max(clock, add(last.at))
    found = look_ahead(world, changed, now)
    path = output_path(world.output_root, key)
    return found, _unmatched(reconcile(changed, now).changes, path)


def _unmatched(changes: "Sequence[Change]", path: str) -> list[str]:
    """Return which workloads no policy has placed, as the rebalancer's status would."""
    from reconciler.audit.printable import printable
    from reconciler.core.changes import WriteFile
    from reconciler.manifests.text.reader import read
    from reconciler.model.fields import bodies, mapping, text

    written = [c.content for c in changes if isinstance(c, WriteFile) and c.path == path]
    if not written:
        return []
    status = mapping(read(written[0].encode(), path).documents[0].body, "status")
    observed = bodies(status, "observedWorkloads")
    if not observed:
        return ["warning: it selects nothing that is placed"]
    told = []
    for item in observed:
        workload = mapping(item, "workload")
        name = f"{text(workload, 'kind')} {text(workload, 'name')}"
        if text(item, "reason"):
            told.append(printable(f"warning: {name} is placed by nothing"))
        elif text(item, "waitsFor"):
            told.append(printable(f"warning: {name} has to wait: {text(item, 'waitsFor')}"))
    return told


def _print(output: str, body: "Body", path: str, preview: "Preview", base: str) -> None:
    """Print the manifest and the plan."""
    from reconciler.audit.previews.as_json import preview_json
    from reconciler.audit.previews.wording import Heading
    from reconciler.cli.printing.preview import print_preview
    from reconciler.cli.printing.print_json import print_json
    from reconciler.manifests.text.emitter import encode

    heading = Heading("plan", f"{path} merged into {base}")
    if output == "json":
        plan = preview_json(preview, heading)
        print_json({"path": path, "manifest": body, "plan": plan})
        return
    click.echo(encode(body), nl=False)
    if output == "text":
        click.echo()
        print_preview(preview, heading, "text")


def _subject(asked: dict[str, Any]) -> str:
    """Return the subject of the commit, as a log shows it."""
    from reconciler.core.message import LONGEST_SUBJECT, plain

    what = [*asked["targets"]]
    if asked["policy"]:
        what.append(f"what {asked['policy']} placed")
    elif asked["selector"]:
        what.append(f"what has {asked['selector']}")
    shown = plain(f"Rebalance {', '.join(what)}")
    return shown if len(shown) <= LONGEST_SUBJECT else f"{shown[: LONGEST_SUBJECT - 1]}…"
