"""`reconciler get`, `describe`, `status` and the other verbs that show a repository as it is.

`get` prints objects, of users and ours, as a table or as manifests; `describe` all that is known of
one object, on one page; `status` how a repository stands, on one screen; `top` what clusters and
quotas have, what is used and what is free; `tree` what hangs on a policy or a placement, down to
the clusters; `events` what upstream's controllers would have recorded, read from commits. `wait`
waits for a condition, a value, creation or deletion. `api-resources` lists every kind that is read,
its names, and who writes it; `explain` the fields of a kind, as its schema has them.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import complete
from reconciler.cli.options import (
    Awaited,
    RemoteAccess,
    SinceType,
    TimeSpan,
    access_options,
    at_option,
    layout_options,
    namespace_option,
    output_option,
    poll_option,
    read_branch_option,
    runs,
)
from reconciler.cli.selection import about_object, chosen_options, object_argument, query_options
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout

if TYPE_CHECKING:
    pass


@click.command(name="get")
@query_options
@click.option(
    "-w", "--watch", is_flag=True, help="Keep watching: print each row that a commit changes."
)
@click.option(
    "--output-watch-events",
    "watch_events",
    is_flag=True,
    help="With --watch: show whether a row was ADDED, MODIFIED or DELETED.",
)
@read_branch_option
@click.option(
    "--at",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Show objects as of a revision, such as main~3 or a tag.",
)
@poll_option
@layout_options
@click.pass_obj
@runs("reconciler.cli.get")
def get_command() -> None:
    r"""List or print the objects of a branch, those of people and those written by passes.

    KIND is singular, plural or short (rb, pp, mcl, crp, deploy, ...), KIND.GROUP, or a category
    such as all, karmada-io or fleet; separate several with commas. Without KIND, the existing kinds
    are listed. Values of Secrets are hidden by default.

    placements lists the policies and placements of all APIs in one table, if there are several;
    placements.cluster.open-cluster-management.io lists those of that API.

    \b
    Examples:
      reconciler get clusters
      reconciler get rb,deploy -A -o wide
      reconciler get placements -A
      reconciler get deploy shop frontend
      reconciler get rb/shop-deployment pp/shop -o yaml
      reconciler get deploy -l 'team in (shop, web)' --sort-by .spec.replicas
      reconciler get rb -o custom-columns=NAME:.metadata.name,ON:.spec.clusters[*].name
      reconciler get deploy shop -o jsonpath='{.spec.replicas}'
      reconciler get rb --watch
      reconciler get rb -A --at HEAD~5
    \b
    Exit codes: 0 success, 1 a named object was not found, 2 no such kind or revision,
    130 interrupted.
    """


@click.command(name="describe")
@object_argument()
@namespace_option
@at_option
@click.option(
    "--show-events/--hide-events",
    "events",
    default=True,
    show_default=True,
    help="Include the newest events.",
)
@layout_options
@click.pass_obj
@runs("reconciler.cli.describe")
def describe_command() -> None:
    r"""Show the details of an object, like kubectl describe: fields, conditions, decision, events.

    OBJECT is kind/name, or kind name. A workload is shown with the decision and events of its
    binding. Values of Secrets are hidden.

    \b
    Examples:
      reconciler describe deployment shop
      reconciler describe rb/shop-deployment
      reconciler describe mcl edge1 --at HEAD~5
    \b
    Exit codes: 0 success, 1 object not found, 2 no such kind or revision.
    """


@click.command(name="status")
@output_option("text", "json")
@at_option
@click.option(
    "--remote",
    metavar="URL",
    help="Read a branch of this remote, fetched into a separate mirror, instead of a checkout.",
)
@click.option(
    "--branch",
    metavar="NAME",
    help="With --remote: branch to read  [default: main]",
)
@click.option("--check", is_flag=True, help="Exit with 3 if there are errors or warnings.")
@access_options
@layout_options
@click.pass_obj
def status_command(
    directory: Path,
    /,
    *,
    remote: str | None,
    branch: str | None,
    check: bool,
    access: RemoteAccess,
    at: str,
    output: str,
    layout: RepositoryLayout,
) -> int:
    r"""Show what is wrong, then the state of a repository: last pass, suspensions, what is coming.

    Problems are, the worst first: clusters that are not ready, without a report or over-committed,
    objects that are not placed, with the cause, faults, commits that are not accepted, warnings,
    objects that wait. Faults are those of the files and, if there are no commits since, those found
    by the last pass.

    \b
    Examples:
      reconciler status
      reconciler status --at HEAD~5
      reconciler status -o json
      reconciler status --check                    for a script: 3 if something is wrong
      reconciler status --remote https://git.example.org/fleet.git --credential-file /etc/token
    \b
    Exit codes: 0 success, even with problems, 1 the remote is unreachable, 2 no such revision or
    branch, 3 with --check: there are errors or warnings.
    """
    from reconciler.cli.status import StatusQuestion, run
    from reconciler.cli.world import open_fleet, open_remote

    if remote is None and branch is not None:
        raise UsageError("--branch goes with --remote; --at names a branch that is here")
    if remote is None:
        root = str(directory.resolve())
        asked = StatusQuestion(root, at)
        return run(open_fleet(directory, layout), asked, directory, output=output, check=check)
    with open_remote(remote, branch, access, layout) as found:
        revision = f"{found.head}{at.removeprefix('HEAD')}" if at.startswith("HEAD") else at
        asked = StatusQuestion(found.url, revision, found.branch)
        return run(found.fleet, asked, None, output=output, check=check)


SHOWN = ("clusters", "cluster", "quotas", "quota")
ORDERS = ("name", "replicas", "cpu", "memory")


@click.command(name="top")
@click.argument("what", metavar="clusters|quotas", type=click.Choice(SHOWN))
@output_option("text", "json")
@click.option(
    "--sort-by",
    type=click.Choice(ORDERS),
    default="name",
    show_default=True,
    help="Sort clusters: by most replicas, or by least free cpu or memory.",
)
@click.option("--no-headers", is_flag=True, help="Omit the header line.")
@at_option
@layout_options
@click.pass_obj
@runs("reconciler.cli.top")
def top_command() -> None:
    r"""Show capacity, usage and free room of each cluster, or the usage of each quota.

    Usage is what the replicas placed on a cluster request, or what the cluster reports if that is
    more; used plus free is the capacity. If a cluster is over-committed, nothing is free, OVER
    shows the excess, and the cluster is red on a terminal. A cluster that reports no capacity shows
    a dash. A cluster declared by several APIs under one name is a single line: the workloads of all
    of them add up, and its capacity counts once.

    Usage of quotas is as of the last pass: the total requests of placed workloads where quotas are
    enforced, otherwise what clusters report. A quota above its limit is red on a terminal.

    \b
    Examples:
      reconciler top clusters
      reconciler top clusters --sort-by cpu
      reconciler top clusters --at HEAD~5 -o json
      reconciler top quotas
    """


@click.command(name="tree")
@about_object("text", "json", metavar="POLICY")
@click.pass_obj
@runs("reconciler.cli.tree")
def tree_command() -> None:
    r"""Show everything under a policy or placement, down to what each cluster runs.

    POLICY is kind/name of a policy or placement; for a workload or binding the tree shows its
    clusters, with what is delivered to each, what the cluster reports, and what it waits for. If
    placements of other APIs include the workload, their trees are shown, too. Moves that the
    passage of time will cause are listed below.

    \b
    Examples:
      reconciler tree pp/shop
      reconciler tree placement/reports -o json
      reconciler tree crp/tools --at HEAD~5
    \b
    Exit codes: 0 success, 1 nothing is placed, 2 no such object or revision.
    """


@click.command(name="events")
@object_argument(required=False)
@click.option(
    "-n",
    "--namespace",
    metavar="NS",
    shell_complete=complete.namespaces,
    help="Namespace of OBJECT  [default: default]; without OBJECT, only events of this namespace "
    "[default: all].",
)
@click.option(
    "-A", "--all-namespaces", is_flag=True, help="Events of all namespaces, as without -n."
)
@output_option(
    "text", "wide", "json", says="Output format; with --watch, json prints one event per line."
)
@click.option("-w", "--watch", is_flag=True, help="Keep watching for new events.")
@click.option(
    "--since",
    metavar="SPAN|REV",
    type=SinceType(),
    shell_complete=complete.revisions,
    help="Only events of the last 1h, 30m, 2d, or of commits after this revision.",
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="Maximum number of events, newest first (0 for no limit).",
)
@click.option(
    "--types",
    metavar="TYPE,...",
    help="Only events of these types: Normal, Warning.",
)
@click.option("--warnings", is_flag=True, help="Same as --types=Warning.")
@read_branch_option
@poll_option
@layout_options
@click.pass_obj
@runs("reconciler.cli.events")
def events_command() -> None:
    r"""Show events as upstream's controllers record them, newest last.

    Events are derived from what the commits of passes changed in the outputs; manual edits of
    outputs are included. OBJECT is kind/name; a workload stands for its binding, a rebalancer, a
    trigger or a staged update run for itself. Upcoming changes are listed below, except with
    --watch or --since. On a
    terminal long cells are cut; -o wide has them whole, with the moment and the upstream
    controller that records the event.

    \b
    Examples:
      reconciler events
      reconciler events -n shop --since 1h --types Warning
      reconciler events deployment/shop --since HEAD~20
      reconciler events --watch --warnings -o json
    \b
    Exit codes: 0 success, 1 the history cannot be read, 2 no such object or revision, 130
    interrupted.
    """


@click.command(name="wait")
@chosen_options("KIND NAME... | KIND/NAME... | KIND")
@click.option(
    "--for",
    "awaited",
    metavar="STATE",
    type=Awaited(),
    required=True,
    help="condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete.",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    metavar="SPAN",
    type=TimeSpan(),
    default="30s",
    show_default=True,
    help="Maximum time to wait, such as 90s or 5m; 0 checks once.",
)
@output_option("text", "name")
@read_branch_option
@poll_option
@layout_options
@click.pass_obj
@runs("reconciler.cli.wait")
def wait_command() -> None:
    r"""Wait for a condition, a value, creation or deletion of objects in the branch.

    Objects are as get -o yaml prints them. A condition or value counts only once a pass has
    processed the newest commit, so a pipeline can push and then wait for the result.

    \b
    Examples:
      reconciler wait rb/shop-deployment --for=condition=Scheduled
      reconciler wait rb -l app=shop --for=condition=FullyApplied --timeout=5m
      reconciler wait crp shop --for=jsonpath='{.status.conditions[0].status}'=True
      reconciler wait workloadrebalancer/monday --for=jsonpath='{.status.finishTime}'
      reconciler wait rb/shop-deployment --for=create --timeout=2m
    \b
    Exit codes: 0 success, 1 timeout, or an object was not found, 2 no such kind or state, 130
    interrupted.
    """


@click.command(name="api-resources")
@output_option("table", "name", "json")
@click.option("--api-group", metavar="GROUP", help="Only kinds of this API group.")
@click.option(
    "--namespaced",
    type=bool,
    help="Only namespaced kinds (true), or only cluster-scoped ones (false).",
)
@click.option("--no-headers", is_flag=True, help="Omit the header line.")
@at_option
@layout_options
@click.pass_obj
@runs("reconciler.cli.api_resources")
def api_resources_command() -> None:
    r"""List all supported kinds and, in a repository, its other workload kinds.

    Passes write the status of some kinds that people write, and own other kinds entirely; manual
    edits of the latter are reverted, or taken as the previous decision.

    \b
    Examples:
      reconciler api-resources
      reconciler api-resources --api-group policy.karmada.io
      reconciler api-resources --namespaced false -o name
    """


@click.command(name="explain")
@click.argument("word", metavar="KIND[.FIELD...]", shell_complete=complete.read_kinds)
@click.option("--recursive", is_flag=True, help="Also print nested fields, by name and type.")
@click.option(
    "--api-version", metavar="GROUP/VERSION", help="Use this version instead of the preferred one."
)
@runs("reconciler.cli.explain")
def explain_command() -> None:
    r"""Document a kind or one of its fields: type, default, values, whether it is required.

    The text comes from the schema that manifests are validated with. KIND may include its group:
    crb.work.karmada.io. Paths skip list indexes: pp.spec.resourceSelectors.kind.

    \b
    Examples:
      reconciler explain pp
      reconciler explain pp.spec.placement.replicaScheduling
      reconciler explain placement.spec --recursive
    \b
    Exit codes: 0 success, 2 no such kind, version or field.
    """
