"""What clusters have and what is placed on them; what quotas limit and what is used of that."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypedDict, overload

import click

from reconciler.audit.fleet.usage import Usage, by_name, usage_of
from reconciler.audit.json_shapes import Amounts, ObjectJson, object_json
from reconciler.cli.printing import print_json
from reconciler.cli.progress import doing
from reconciler.cli.tables import print_table
from reconciler.cli.world import load_world
from reconciler.core.dialects import DIALECTS
from reconciler.dialects.view import QuotaUsage
from reconciler.model.identity import RepositoryLayout
from reconciler.model.quantity import (
    Resources,
    canonical_binary,
    canonical_cpu,
    ceil_milli,
    ceil_units,
)
from reconciler.model.world import World

NOTHING = "-"
UNITS = ("cpu", "memory")


def run(
    directory: Path,
    *,
    what: str,
    output: str,
    sort_by: str,
    no_headers: bool,
    at: str,
    layout: RepositoryLayout,
) -> int:
    """Print the usage of clusters, or of quotas."""
    of_quotas = what.startswith("quota")
    if of_quotas and sort_by != "name":
        raise click.UsageError("--sort-by is for clusters; quotas are sorted by namespace and name")
    world = load_world(directory, at, layout)
    if not of_quotas:
        return _print_clusters(world, output, sort_by, headers=not no_headers)
    return _print_quotas(world, output, headers=not no_headers)


def _print_clusters(world: World, output: str, sort_by: str, *, headers: bool) -> int:
    with doing("Adding up"):
        usages = sorted(by_name(usage_of(world)), key=_order(sort_by))
    if output == "json":
        answer: TopClustersJson = {"clusters": [_usage_json(item) for item in usages]}
        print_json(answer)
        return 0
    if not usages:
        click.echo("there are no clusters in this repository", err=True)
        return 0
    over = [name for name in UNITS if any(name in item.over for item in usages)]
    reserved = [name for name in UNITS if any(name in item.reserved for item in usages)]
    titles = ["CLUSTER", "KIND", "READY", "OBJECTS", "REPLICAS"]
    for name in UNITS:
        words: tuple[str, ...] = ("USED", "FREE", "ALL")
        words += ("RESERVED",) if name in reserved else ()
        words += ("OVER",) if name in over else ()
        titles += [f"{name.upper()} {word}" for word in words]
    rows = [_row(item, reserved, over) for item in usages]
    bad = {number for number, item in enumerate(usages) if item.over}
    print_table([*titles, "TAINTS"], rows, headers=headers, bad=bad)
    return 0


def _order(sort_by: str) -> Callable[[Usage], tuple[float, str, str]]:
    """Return the order of the rows; clusters that do not say come last."""

    def key(item: Usage) -> tuple[float, str, str]:
        first: float = 0
        if sort_by == "replicas":
            first = -item.replicas
        elif sort_by != "name":
            first = float("inf") if item.free is None else item.free.get(sort_by, float("inf"))
        return first, item.key.name, item.key.kind

    return key


def _row(item: Usage, reserved: Sequence[str], over: Sequence[str]) -> list[str]:
    """Return one cluster; with a column more for each resource that some cluster has too little of.

    `USED` and `FREE` are together `ALL` and `OVER`; what is `RESERVED` is used.
    """
    taints = ", ".join((*item.taints, *(("being deleted",) if item.leaving else ())))
    amounts = []
    for name in UNITS:
        amounts += [_amount(part, name) for part in (item.used, item.free, item.capacity)]
        amounts += [_amount(item.reserved, name)] if name in reserved else []
        amounts += [_over(item, name)] if name in over else []
    return [
        item.key.name,
        ",".join(key.kind for key in (item.key, *item.also)),
        item.ready,
        str(item.objects),
        str(item.replicas),
        *amounts,
        taints or "<none>",
    ]


def _over(item: Usage, name: str) -> str:
    """Return what is taken beyond a capacity, with how much of it that makes in all."""
    if name not in item.over:
        return NOTHING
    capacity = (item.capacity or {}).get(name)
    percent = f" ({round(100 * item.used[name] / capacity)} %)" if capacity else ""
    return f"{_amount(item.over, name)}{percent}"


def _amount(resources: Resources | None, name: str) -> str:
    """Return an amount as people write it, a dash where it is not known."""
    if resources is None or name not in resources:
        return NOTHING
    return canonical_cpu(resources[name]) if name == "cpu" else canonical_binary(resources[name])


@overload
def amounts_json(resources: Resources) -> Amounts: ...


@overload
def amounts_json(resources: Resources | None) -> Amounts | None: ...


def amounts_json(resources: Resources | None) -> Amounts | None:
    """Return all amounts as numbers: cores of cpu, bytes of memory, pieces of what is counted."""
    if resources is None:
        return None
    return {
        name: ceil_milli(amount) / 1000 if name == "cpu" else ceil_units(amount)
        for name, amount in sorted(resources.items())
    }


class ReservedJson(TypedDict, total=False):
    """What is reserved, absent for nothing."""

    reserved: Annotated[Amounts, "What of it is decided and not reported yet; absent for nothing."]


class UsageJson(ReservedJson):
    """What a cluster has and uses."""

    cluster: Annotated[str, "Its name."]
    object: Annotated[ObjectJson, "Its manifest."]
    alsoDeclaredBy: Annotated[
        list[ObjectJson],
        "Those of other APIs that declare a cluster of this name.",
    ]
    ready: Annotated[
        str,
        "`True`, `False` or `Unknown` as reported, `Declared` of one without a status; with "
        "commas between where several APIs differ.",
    ]
    deleting: Annotated[bool, "Whether it is being deleted."]
    objectsPlaced: Annotated[int, "Bindings and placements that are on it."]
    replicas: Annotated[int, "Those that they have there."]
    requested: Annotated[
        Amounts,
        "What these ask for: cores of `cpu`, bytes of `memory`, pieces of what is counted.",
    ]
    used: Annotated[
        Amounts,
        "What is taken: `requested`, or what the cluster reports as taken if that is more.",
    ]
    free: Annotated[Amounts | None, "What is left, never below 0; `null` where nothing is known."]
    over: Annotated[
        Amounts,
        "What is used beyond the capacity, of what is over-committed only: `used` and `free` "
        "are `capacity` and `over`.",
    ]
    capacity: Annotated[Amounts | None, "What it can give away; `null` where it does not say."]
    taints: Annotated[list[str], "As `key=value:effect`."]


class TopClustersJson(TypedDict):
    """What clusters have and use."""

    clusters: Annotated[list[UsageJson], "In the order of `--sort-by`."]


def _usage_json(item: Usage) -> UsageJson:
    reserved: ReservedJson = {"reserved": amounts_json(item.reserved)} if item.reserved else {}
    return {
        "cluster": item.key.name,
        "object": object_json(item.key),
        "alsoDeclaredBy": [object_json(key) for key in item.also],
        "ready": item.ready,
        "deleting": item.leaving,
        "objectsPlaced": item.objects,
        "replicas": item.replicas,
        "requested": amounts_json(item.requested),
        "used": amounts_json(item.used),
        "free": amounts_json(item.free),
        "over": amounts_json(item.over),
        "capacity": amounts_json(item.capacity),
        **reserved,
        "taints": list(item.taints),
    }


TITLES = ("NAMESPACE", "QUOTA", "RESOURCE", "USED", "FREE", "LIMIT", "REFUSES")


def _print_quotas(world: World, output: str, *, headers: bool) -> int:
    """Print one resource a line."""
    quotas = quotas_of(world)
    if output == "json":
        answer: TopQuotasJson = {"quotas": [_quota_json(one) for one in quotas]}
        print_json(answer)
        return 0
    if not quotas:
        click.echo("there are no quotas in this repository", err=True)
        return 0
    bad = {number for number, (_, is_over) in enumerate(_lines(quotas)) if is_over}
    rows = [row for row, _ in _lines(quotas)]
    print_table(list(TITLES), rows, headers=headers, bad=bad)
    return 0


def quotas_of(world: World) -> list[QuotaUsage]:
    """Return the quotas of all APIs, by key."""
    quotas = (one for dialect in DIALECTS for one in dialect.view().world.quotas(world))
    return sorted(quotas, key=lambda one: one.key)


def _lines(found: list[QuotaUsage]) -> Iterator[tuple[list[str], bool]]:
    """Yield the line of each resource of each quota, and whether more is used than it may be."""
    for usage in found:
        for part in usage.resources:
            amounts = [part.told(amount) for amount in (part.used, part.free, part.limit)]
            refuses = "yes" if usage.refuses else "no"
            row = [usage.key.namespace, usage.key.name, part.name, *amounts, refuses]
            yield row, part.used > part.limit


class QuotaJson(TypedDict):
    """What a quota allows, and what is used."""

    quota: Annotated[str, "Its name."]
    object: Annotated[ObjectJson, "Its manifest."]
    refuses: Annotated[bool, "Whether a decision that exceeds it is refused."]
    limits: Annotated[
        Amounts,
        "What may be used: cores of `cpu`, bytes of `memory`, pieces of what is counted.",
    ]
    used: Annotated[Amounts, "What is used of it, as the last pass found."]
    free: Annotated[Amounts, "What is left, never below 0."]


class TopQuotasJson(TypedDict):
    """What quotas allow, and what is used."""

    quotas: Annotated[list[QuotaJson], "By namespace, then name."]


def _quota_json(one: QuotaUsage) -> QuotaJson:
    return {
        "quota": one.key.name,
        "object": object_json(one.key),
        "refuses": one.refuses,
        "limits": amounts_json({part.name: part.limit for part in one.resources}),
        "used": amounts_json({part.name: part.used for part in one.resources}),
        "free": amounts_json({part.name: part.free for part in one.resources}),
    }
