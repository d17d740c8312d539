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
    TimeSpan,
    access_options,
    at_option,
    layout_options,
    namespace_option,
    output_option,
    poll_option,
    read_branch_option,
)
from reconciler.cli.selection import about_object, chosen_options, object_argument, query_options
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.cli.selection import AskedObject, NamedOrChosen, Query
    from reconciler.cli.wait import AwaitedState


@click.command(name="get")
@query_options
@click.option("-w", "--watch", is_flag=True, help="Go on: print each row that a commit changes.")
@click.option(
    "--output-watch-events",
    "watch_events",
    is_flag=True,
    help="With --watch: say whether a row was ADDED, MODIFIED or DELETED.",
)
@read_branch_option
@click.option(
    "--at",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Show them as they were at a revision: main~3, a tag.",
)
@poll_option
@layout_options
@click.pass_obj
def get_command(
    directory: Path,
    /,
    *,
    query: "Query",
    watch: bool,
    watch_events: bool,
    branch: str | None,
    at: str | None,
    poll_seconds: float,
    layout: RepositoryLayout,
) -> int:
    r"""Print objects as the branch has them: what people wrote, and what was decided.

    KIND is singular or plural, short (rb, pp, mcl, crp, deploy, ...), or KIND.GROUP, or a category
    such as all, karmada-io and fleet; several are separated by commas. Without it the kinds that
    there are are listed. Values of Secrets are hidden unless they are asked for.

    placements alone means the policies and placements of all APIs, in one table, where there are
    several; placements.cluster.open-cluster-management.io are those of that API.

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
    Exit codes: 0 printed, 1 an object that was named is not there, 2 no such kind or revision,
    130 interrupted.
    """
    from reconciler.cli.get import run

    return run(
        directory,
        query=query,
        watch=watch,
        watch_events=watch_events,
        branch=branch,
        at=at,
        poll_seconds=poll_seconds,
        layout=layout,
    )


@click.command(name="describe")
@object_argument()
@namespace_option
@at_option
@click.option(
    "--show-events/--hide-events",
    "events",
    default=True,
    show_default=True,
    help="Whether the newest events are printed.",
)
@layout_options
@click.pass_obj
def describe_command(
    directory: Path,
    /,
    *,
    word: str,
    namespace: str,
    at: str,
    events: bool,
    layout: RepositoryLayout,
) -> int:
    r"""Print an object as kubectl describes one: labels, fields, conditions, decision, events.

    OBJECT is kind/name, or kind name. The decision and the events of a workload are those of its
    binding. Values of Secrets are hidden.

    \b
    Examples:
      reconciler describe deployment shop
      reconciler describe rb/shop-deployment
      reconciler describe mcl edge1 --at HEAD~5
    \b
    Exit codes: 0 told, 1 it is not there, 2 no such kind or revision.
    """
    from reconciler.cli.describe import run

    return run(directory, word=word, namespace=namespace, at=at, events=events, layout=layout)


@click.command(name="status")
@output_option("text", "json")
@at_option
@click.option(
    "--remote",
    metavar="URL",
    help="Ask a branch of this remote, fetched into a mirror of its own, instead of a checkout.",
)
@click.option(
    "--branch",
    metavar="NAME",
    help="With --remote: which branch  [default: main]",
)
@access_options
@layout_options
@click.pass_obj
def status_command(
    directory: Path,
    /,
    *,
    remote: str | None,
    branch: str | None,
    access: RemoteAccess,
    at: str,
    output: str,
    layout: RepositoryLayout,
) -> int:
    r"""Print how a repository stands: its last pass, what is wrong, suspended, and coming.

    Faults are those of the files and, if nobody committed since, those that the last pass found.

    \b
    Examples:
      reconciler status
      reconciler status --at HEAD~5
      reconciler status -o json
      reconciler status --remote https://git.example.org/fleet.git --credential-file /etc/token
    \b
    Exit codes: 0 told, whatever it is, 1 the remote does not answer, 2 no such revision or branch.
    """
    from reconciler.cli.status import StatusQuestion, run
    from reconciler.cli.world import open_fleet, open_remote

    if remote is None and branch is not None:
        raise UsageError("--branch goes with --remote; --at names a branch that is here")
    if remote is None:
        root = str(directory.resolve())
        asked = StatusQuestion(root, at)
        return run(open_fleet(directory, layout), asked, directory, output=output)
    with open_remote(remote, branch, access, layout) as found:
        revision = f"{found.head}{at.removeprefix('HEAD')}" if at.startswith("HEAD") else at
        asked = StatusQuestion(found.url, revision, found.branch)
        return run(found.fleet, asked, None, output=output)


CLUSTERS, QUOTAS = ("clusters", "cluster"), ("quotas", "quota")
ORDERS = ("name", "replicas", "cpu", "memory")


@click.command(name="top")
@click.argument("what", metavar="clusters|quotas", type=click.Choice([*CLUSTERS, *QUOTAS]))
@output_option("text", "json")
@click.option(
    "--sort-by",
    type=click.Choice(ORDERS),
    default="name",
    show_default=True,
    help="Of clusters: replicas the most first, cpu and memory the least free first.",
)
@click.option("--no-headers", is_flag=True, help="Leave out the first line.")
@at_option
@layout_options
@click.pass_obj
def top_command(
    directory: Path,
    /,
    *,
    what: str,
    sort_by: str,
    output: str,
    no_headers: bool,
    at: str,
    layout: RepositoryLayout,
) -> int:
    r"""Print each cluster with its capacity, what is placed on it, and what is free; or each quota.

    What is used is what the replicas placed there ask for, or what the cluster reports as taken if
    that is more; used and free are together the capacity. Where more is used than there is, nothing
    is free, OVER has by how much, and the cluster is red on a terminal. A cluster that reports no
    capacity shows a dash. A cluster that several APIs declare under one name is one line: what is
    placed there by any of them counts together, and its room once.

    Of quotas it is what the last pass found: where they refuse, what all that is placed asks for,
    elsewhere what clusters report. One that stands above its limit is red on a terminal.

    \b
    Examples:
      reconciler top clusters
      reconciler top clusters --sort-by cpu
      reconciler top clusters --at HEAD~5 -o json
      reconciler top quotas
    """
    if what in QUOTAS:
        from reconciler.cli.top import run_quotas

        if sort_by != "name":
            raise click.UsageError("--sort-by is for clusters; quotas come by namespace and name")
        return run_quotas(directory, output=output, no_headers=no_headers, at=at, layout=layout)
    from reconciler.cli.top import run_clusters

    return run_clusters(
        directory, sort_by=sort_by, output=output, no_headers=no_headers, at=at, layout=layout
    )


@click.command(name="tree")
@about_object("text", "json", metavar="POLICY")
@click.pass_obj
def tree_command(directory: Path, /, *, asked: "AskedObject") -> int:
    r"""Print what hangs on a policy or a placement, down to what each cluster has of it.

    POLICY is kind/name of a policy or a placement; a workload or a binding shows its clusters, and
    below each what is delivered there, what it reports, and what it waits for. A workload that
    placements of other APIs carry along has their trees, too. What time alone will move of it is
    told below.

    \b
    Examples:
      reconciler tree pp/shop
      reconciler tree placement/reports -o json
      reconciler tree crp/tools --at HEAD~5
    \b
    Exit codes: 0 told, 1 nothing is placed, 2 no such object or revision.
    """
    from reconciler.cli.tree import run

    return run(directory, asked=asked)


@click.command(name="events")
@object_argument(required=False)
@namespace_option
@output_option("text", "wide", "json", says="How to print them; with --watch json is one a line.")
@click.option("-w", "--watch", is_flag=True, help="Go on with what the branch brings.")
@click.option(
    "--since",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Only commits after this revision.",
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="How many at most, the newest; 0 shows all.",
)
@click.option("--warnings", is_flag=True, help="Only what is of type Warning.")
@read_branch_option
@poll_option
@layout_options
@click.pass_obj
def events_command(
    directory: Path,
    /,
    *,
    word: str | None,
    namespace: str,
    output: str,
    watch: bool,
    since: str | None,
    limit: int,
    warnings: bool,
    branch: str | None,
    poll_seconds: float,
    layout: RepositoryLayout,
) -> int:
    r"""Print events as upstream's controllers record them, the newest last.

    They are told from the commits of passes: what each changed in the outputs. OBJECT is kind/name;
    a workload stands for its binding, a rebalancer, a trigger or a staged update run for itself.
    Edits of outputs by hand are told, too. What passes will do by themselves is told below, but
    with --watch or --since. -o wide adds which controller records it upstream.

    \b
    Examples:
      reconciler events
      reconciler events deployment/shop --since HEAD~20
      reconciler events --watch --warnings -o json
    \b
    Exit codes: 0 told, 1 the history cannot be read, 2 no such object or revision, 130 interrupted.
    """
    from reconciler.cli.events import run

    return run(
        directory,
        word=word,
        namespace=namespace,
        output=output,
        watch=watch,
        since=since,
        limit=limit,
        warnings=warnings,
        branch=branch,
        poll_seconds=poll_seconds,
        layout=layout,
    )


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
    help="Longest wait, such as 90s or 5m; 0 looks once.",
)
@output_option("text", "name")
@read_branch_option
@poll_option
@layout_options
@click.pass_obj
def wait_command(
    directory: Path,
    /,
    *,
    selection: "NamedOrChosen",
    awaited: "AwaitedState",
    timeout_seconds: float,
    output: str,
    branch: str | None,
    poll_seconds: float,
    layout: RepositoryLayout,
) -> int:
    r"""Wait until each object was seen as it is to be: in the branch, as get -o yaml prints it.

    A condition and a value count once a pass has seen the newest commit: what a pass would change
    now is no answer yet. So a pipeline that pushes can wait for what comes of it.

    \b
    Examples:
      reconciler wait rb/shop-deployment --for=condition=Scheduled
      reconciler wait rb -l app=shop --for=condition=FullyApplied --timeout=5m
      reconciler wait crp shop --for=jsonpath='{.status.conditions[0].status}'=True
      reconciler wait workloadrebalancer/monday --for=jsonpath='{.status.finishTime}'
      reconciler wait rb/shop-deployment --for=create --timeout=2m
    \b
    Exit codes: 0 all are so, 1 not in time, or an object is not there, 2 no such kind or state,
    130 interrupted.
    """
    from reconciler.cli.wait import run

    return run(
        directory,
        selection=selection,
        awaited=awaited,
        timeout_seconds=timeout_seconds,
        output=output,
        branch=branch,
        poll_seconds=poll_seconds,
        layout=layout,
    )


@click.command(name="api-resources")
@output_option("table", "name", "json")
@click.option("--api-group", metavar="GROUP", help="Only kinds of this API group.")
@click.option("--namespaced", type=bool, help="Only kinds with a namespace, or only without.")
@click.option("--no-headers", is_flag=True, help="Leave out the first line.")
@at_option
@layout_options
@click.pass_obj
def api_resources_command(
    directory: Path,
    /,
    *,
    output: str,
    api_group: str | None,
    namespaced: bool | None,
    no_headers: bool,
    at: str,
    layout: RepositoryLayout,
) -> int:
    r"""Print every kind that is read, and in a repository the workloads that it has besides.

    Passes write the status of some kinds that people write, and other kinds whole; a person's edit
    of those is undone, or taken as the previous decision.

    \b
    Examples:
      reconciler api-resources
      reconciler api-resources --api-group policy.karmada.io
      reconciler api-resources --namespaced false -o name
    """
    from reconciler.cli.api_resources import run

    return run(
        directory,
        output=output,
        api_group=api_group,
        namespaced=namespaced,
        no_headers=no_headers,
        at=at,
        layout=layout,
    )


@click.command(name="explain")
@click.argument("word", metavar="KIND[.FIELD...]", shell_complete=complete.read_kinds)
@click.option("--recursive", is_flag=True, help="Print fields of fields, too, by name and type.")
@click.option("--api-version", metavar="GROUP/VERSION", help="Another version than the preferred.")
def explain_command(*, word: str, recursive: bool, api_version: str | None) -> int:
    r"""Print what a field of a kind means: type, default, values, whether it must be there.

    It is told from the schema that manifests are checked with. KIND may have its group:
    crb.work.karmada.io. Lists are passed through: pp.spec.resourceSelectors.kind.

    \b
    Examples:
      reconciler explain pp
      reconciler explain pp.spec.placement.replicaScheduling
      reconciler explain placement.spec --recursive
    \b
    Exit codes: 0 told, 2 no such kind, version or field.
    """
    from reconciler.cli.explain import run

    return run(word=word, recursive=recursive, api_version=api_version)
