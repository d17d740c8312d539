"""`reconciler reconcile`, `run`, `serve`, `observe` and `publish`: what goes on by itself."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.operation import (
    operation_options,
    page_options,
    root_options,
    secret_option,
)
from reconciler.cli.options import (
    Moment,
    access_options,
    at_option,
    gathers,
    layout_options,
    read_branch_option,
    runs,
    service_options,
    tolerance_option,
)
from reconciler.cli.settings import ReloadingCommand, pass_renewal, take_settings
from reconciler.cli.trust import key_options, signing_options

if TYPE_CHECKING:
    pass


@click.command(name="reconcile")
@service_options
@key_options
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="Decide as of this time  [default: now]"
)
@click.option("--dry-run", is_flag=True, help="Print decisions without committing.")
@click.option(
    "--no-push",
    is_flag=True,
    help="With --remote: commit to the mirror only, and print the commit. A checkout never pushes.",
)
@click.option("-v", "verbose", is_flag=True, help="Print every decision and file, without a limit.")
@click.pass_obj
@runs("reconciler.cli.reconcile")
def reconcile_command() -> None:
    r"""Run one pass: read the branch, decide, and commit to it.

    \b
    Examples:
      reconciler reconcile --dry-run
      reconciler reconcile --now 2026-01-02T15:04:05Z
      reconciler reconcile --remote https://git.example.org/fleet.git
    """


@click.command(name="run", cls=ReloadingCommand)
@click.option(
    "--settings",
    metavar="FILE",
    envvar="RECONCILER_SETTINGS",
    type=click.Path(path_type=Path),
    is_eager=True,
    callback=take_settings,
    help="YAML file with any of these options, such as poll-seconds: 60; reloaded on change.",
)
@service_options
@key_options
@root_options
@click.option(
    "--poll-seconds",
    type=click.FloatRange(min=0.1),
    envvar="RECONCILER_POLL_SECONDS",
    help="Poll at least this often  [default: 5 for a checkout, 60 for a remote]",
)
@click.option(
    "--log-format",
    type=click.Choice(["auto", "text", "json"]),
    default="auto",
    show_default=True,
    envvar="RECONCILER_LOG_FORMAT",
    help="Log format; auto is text on a terminal and json elsewhere.",
)
@operation_options
@pass_renewal
@click.pass_obj
@runs("reconciler.cli.daemon")
def run_command() -> None:
    r"""Run a pass whenever the branch moves or a timer expires, until SIGTERM, SIGHUP or Ctrl-C.

    \b
    Examples:
      reconciler run
      reconciler run --remote git@git.example.org:platform/fleet.git --branch main
      reconciler run --listen 9440 --webhook-secret-file /etc/reconciler/hook
      reconciler run --root teams/a --root teams/b
      reconciler run --remote URL --roots 'teams/*' --executor dask://127.0.0.1:8786
    """


@click.command(name="serve")
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    envvar="RECONCILER_LISTEN",
    default="8080",
    show_default=True,
    help="Address; a port alone means 127.0.0.1, others require a token or a trusted proxy.",
)
@page_options
@read_branch_option
@layout_options
@click.pass_obj
@runs("reconciler.cli.serve")
def serve_command() -> None:
    r"""Serve a read-only page of a branch: placements, past and upcoming moves, and their reasons.

    It follows the branch as passes run elsewhere update it, until Ctrl-C. `reconciler run --listen`
    serves the same page.

    \b
    Examples:
      reconciler serve
      reconciler serve --listen 9000 --branch production
      reconciler serve --listen 0.0.0.0:9000 --page-token-file /etc/reconciler/page
      reconciler serve --listen 0.0.0.0:9000 --page-user-header X-Forwarded-User \\
        --page-trusted-proxy 10.1.0.0/24
    \b
    Exit codes: 0 stopped, 1 cannot listen, 2 no such branch, or an address without token or proxy.
    """


@click.command(name="publish")
@click.option("--context", metavar="NAME", required=True, help="Context of kubectl for the hub.")
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The kubeconfig file  [default: kubectl's]",
)
@click.option(
    "--timeout-seconds",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="Timeout of each kubectl command.",
)
@click.option("--dry-run", is_flag=True, help="Print the changes without making them.")
@at_option
@layout_options
@click.pass_obj
@runs("reconciler.cli.publish")
def publish_command() -> None:
    r"""Bring the ClusterProfiles and PlacementDecisions of a revision onto a hub.

    What `inventory.publish` and `decisions.publish` have passes write is applied through kubectl by
    server-side apply, as field manager reconciler-publish: of profiles their status as well, which
    Flux and Argo CD never apply. What is ours there and no longer published is deleted; what others
    wrote stays, and a conflict with them is reported.

    \b
    Examples:
      reconciler publish --context hub --dry-run
      reconciler publish --context hub --at origin/main
    \b
    Exit codes: 0 success, 1 something could not be applied or deleted, 2 usage error.
    """


@click.command(name="observe")
@click.option(
    "--context",
    "contexts",
    metavar="NAME",
    multiple=True,
    help="Observe this cluster by the kubeconfig context of its name; CLUSTER=CONTEXT if they "
    "differ (repeatable).",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    envvar="KUBECONFIG",
    default=lambda: str(Path.home() / ".kube" / "config"),
    help="The kubeconfig file  [default: ~/.kube/config]",
)
@click.option(
    "--in-cluster",
    metavar="NAME",
    help="Observe the cluster that this runs in by its service account; it has this name.",
)
@click.option(
    "--access-provider",
    metavar="NAME",
    help="Observe the clusters whose ClusterProfiles name this access provider.",
)
@click.option(
    "--access-tokens",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder with a token for each cluster of --access-provider, in a file of its name.",
)
@click.option(
    "--access-host",
    metavar="NAME",
    multiple=True,
    help="Host, or domain of hosts, to which --access-tokens may be sent (repeatable).",
)
@click.option("--service-host", envvar="KUBERNETES_SERVICE_HOST", default="", hidden=True)
@click.option("--service-port", envvar="KUBERNETES_SERVICE_PORT", default="443", hidden=True)
@click.option(
    "--remote",
    metavar="URL",
    envvar="RECONCILER_OBSERVE_REMOTE",
    required=True,
    help="The remote that has the repository.",
)
@click.option(
    "--mirror",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder for its mirror, one a process  [default: in ~/.cache/reconciler]",
)
@click.option(
    "--branch",
    metavar="NAME",
    default="main",
    show_default=True,
    help="Branch that declares the clusters; reports go there, or to its feedback.branch.",
)
@click.option(
    "--author",
    metavar="'NAME <EMAIL>'",
    envvar="RECONCILER_AUTHOR",
    help="Author of commits  [default: as configured for git]",
)
@click.option(
    "--probe-seconds",
    type=click.FloatRange(min=1),
    default=10.0,
    show_default=True,
    help="Time between two probes of a cluster.",
)
@click.option(
    "--commit-seconds",
    type=click.FloatRange(min=1),
    default=60.0,
    show_default=True,
    help="Shortest time between two commits.",
)
@click.option(
    "--timeout-seconds",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Timeout of each request.",
)
@click.option(
    "--scores",
    is_flag=True,
    help="Report scores of what each cluster has left (resource-usage-score), as the "
    "resource-usage add-on does; differences below --tolerance of their range do not count.",
)
@click.option(
    "--most-commits",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Let the branch of reports begin anew after so many commits; needs feedback.keepUsed in "
    "reconciler.yaml (0 for never).",
)
@click.option(
    "--heartbeat",
    metavar="URL",
    envvar="RECONCILER_HEARTBEAT",
    help="Send heartbeats to the judge that listens at this URL; `remote` moves a reference at the "
    "remote instead.",
)
@click.option(
    "--heartbeat-name",
    metavar="NAME",
    help="Whose heartbeats they are  [default: the cluster of --in-cluster]",
)
@secret_option("--heartbeat-token-file", "RECONCILER_HEARTBEAT_TOKEN", "Token for --heartbeat URL")
@click.option(
    "--judge",
    is_flag=True,
    help="Report clusters whose observers send no heartbeats any more; one process for a fleet.",
)
@click.option(
    "--stand-by",
    metavar="NAME",
    help="Report the clusters only while the observer with this --heartbeat-name is silent.",
)
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    envvar="RECONCILER_LISTEN",
    help="Address to serve /livez and /metrics on, and to hear heartbeats on with --judge or "
    "--stand-by; a port alone means 127.0.0.1.",
)
@secret_option(
    "--heartbeat-tokens-file",
    "RECONCILER_HEARTBEAT_TOKENS",
    "Who may send heartbeats to --listen: a name and a token on each line",
)
@tolerance_option
@access_options
@signing_options
@layout_options
@gathers("heartbeats", "reconciler.cli.observe", "HeartbeatOptions")
@gathers("profiles", "reconciler.cli.observe", "ProfileOptions")
@click.pass_obj
@runs("reconciler.cli.observe")
def observe_command() -> None:
    r"""Watch clusters, and commit what they report below feedback/: health, room, workloads.

    Each cluster is probed; what its API says of a cluster that answers, or does not for a while,
    becomes its reported status. Its nodes and pods become its room, and the workloads of the
    repository report their status. Nothing is written to a cluster. A quiet fleet makes no commit.

    \b
    Examples:
      reconciler observe --context member1 --context member2=admin@second --remote $URL
      reconciler observe --in-cluster member1 --remote $URL --signing-key /keys/observer
      reconciler observe --in-cluster member1 --remote $URL --heartbeat http://judge:9441
      reconciler observe --judge --listen 0.0.0.0:9441 --heartbeat-tokens-file tokens --remote $URL
      reconciler observe --context member1 --stand-by east --remote $URL
    """
