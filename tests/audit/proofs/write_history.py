"""Writes a history of many passes over all three APIs with delivery; fixtures/history/ keeps one.

    python -m tests.audit.proofs.write_history FOLDER PASSES SEED

Whatever decides since it was written can be held against it, byte for byte; so it is written anew
with each change of the rules.
"""

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from reconciler.cli import main
from reconciler.model.moments import format_moment
from tests.builders import NOW, Body, cluster_status, rebalancer, taint, text
from tests.core.cell_fleets import (
    FLEET,
    KARMADA,
    KUBEFLEET,
    OCM_GROUP,
    OPEN_CLUSTER_MANAGEMENT,
    PER_CELL,
    hub_placement,
    hub_taint,
    in_cell,
    karmada_cluster,
    managed,
    member,
    named,
    override,
    override_policy,
    placement,
    policy,
    replica_set,
    report,
    role,
    score,
    settings,
    target,
    workload,
)
from tests.shell.repositories import git

CELLS = 2
MOST_SECONDS = 900  # between two passes
Edit = tuple[str, Body | None]
"""A path, and what is written there; `None` removes it."""


def files() -> Iterator[Edit]:
    """The repository at first."""
    fleets = {"karmada": KARMADA, "kubefleet": KUBEFLEET, "ocm": OPEN_CLUSTER_MANAGEMENT}
    for api, fleet in fleets.items():
        for path, body in fleet.files(CELLS).items():
            yield (path if path == "reconciler.yaml" else f"{api}/{path}"), body


def edits(choose: random.Random, number: int) -> Iterator[Edit]:
    """What a person commits before a pass: one change of any kind, at times two or none."""
    kinds: list[Callable[[random.Random, int], Edit]] = [*KARMADA_EDITS, *FLEET_EDITS, *HUB_EDITS]
    for _ in range(choose.choice((0, 1, 1, 1, 1, 2))):
        yield choose.choice(kinds)(choose, number)


def _at(choose: random.Random) -> tuple[int, int]:
    """A cell, and an object in it."""
    return choose.randrange(CELLS), choose.randrange(PER_CELL)


def _scaled(choose: random.Random, _: int) -> Edit:
    cell, one = _at(choose)
    image = choose.choice(("x:1", "x:2"))
    wanted = workload(cell, one, replicas=choose.randrange(6), image=image)
    return f"karmada/work/{cell}/{one}.yaml", choose.choice((wanted, wanted, wanted, None))


def _policy(choose: random.Random, _: int) -> Edit:
    cell = choose.randrange(CELLS)
    by_name = {"clusterNames": [f"k{cell:03}-{choose.randrange(2)}"]}
    affinity = choose.choice(({"labelSelector": in_cell(cell)}, by_name))
    return f"karmada/policies/{cell}.yaml", policy(cell, affinity)


def _overridden(choose: random.Random, number: int) -> Edit:
    cell = choose.randrange(CELLS)
    return f"karmada/overrides/{cell}.yaml", override_policy(cell, f"v{number}")


def _cluster(choose: random.Random, _: int) -> Edit:
    cell, one = choose.randrange(CELLS), choose.randrange(2)
    taints = choose.choice(((), (), (taint(),)))
    cpu = choose.choice(("100", "20"))
    wanted = karmada_cluster(cell, one, *taints, cpu=cpu, zone=choose.choice("ab"))
    ready = {**wanted, "status": cluster_status(cpu=cpu)}
    return f"karmada/clusters/{cell}-{one}.yaml", ready


def _rebalanced(choose: random.Random, number: int) -> Edit:
    cell, one = _at(choose)
    wanted = target("apps/v1", "Deployment", f"w{cell:03}-{one}", f"ns{cell:03}")
    return f"karmada/r{number}.yaml", rebalancer(f"r{number}", wanted)


def _instructed(choose: random.Random, _: int) -> Edit:
    """What is asked not to happen on clusters."""
    cell = choose.randrange(CELLS)
    body = policy(cell, {"labelSelector": in_cell(cell)})
    wanted = choose.choice(
        (
            {"suspension": {"dispatching": True}},
            {"preserveResourcesOnDeletion": True},
            {"conflictResolution": "Overwrite"},
            {},
        )
    )
    return f"karmada/policies/{cell}.yaml", {**body, "spec": {**_spec(body), **wanted}}


def _lazy(choose: random.Random, number: int) -> Edit:
    """A Lazy policy for what the workload needs, which comes after it."""
    cell = choose.randrange(CELLS)
    body = named(
        "PropagationPolicy",
        "policy.karmada.io/v1alpha1",
        f"lazy-{cell}",
        f"ns{cell:03}",
        spec={
            "activationPreference": "Lazy",
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}],
            "placement": {"clusterAffinity": {"clusterNames": [f"k{cell:03}-{number % 2}"]}},
        },
    )
    return f"karmada/lazy/{cell}.yaml", choose.choice((body, body, None))


def _odd(choose: random.Random, number: int) -> Edit:
    """An object whose name no binding could have as it is."""
    cell = choose.randrange(CELLS)
    name = choose.choice(("system::leader", "shop_reader", "A..b", "plain"))
    body = named(
        "Role", "rbac.authorization.k8s.io/v1", f"{name}{number % 3}", f"ns{cell:03}", rules=[]
    )
    return f"karmada/odd/{cell}-{number % 3}.yaml", choose.choice((body, body, None))


def _odd_policy(choose: random.Random, _: int) -> Edit:
    cell = choose.randrange(CELLS)
    body = named(
        "PropagationPolicy",
        "policy.karmada.io/v1alpha1",
        f"roles-{cell}",
        f"ns{cell:03}",
        spec={
            "resourceSelectors": [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}],
            "placement": {"clusterAffinity": {"labelSelector": in_cell(cell)}},
        },
    )
    return f"karmada/odd/policy-{cell}.yaml", body


def _needed(choose: random.Random, number: int) -> Edit:
    cell = choose.randrange(CELLS)
    body = named(
        "ConfigMap", "v1", f"settings{number % 2}", f"ns{cell:03}", data={"v": str(number)}
    )
    return f"karmada/needed/{cell}-{number % 2}.yaml", choose.choice((body, body, None))


def _protected(choose: random.Random, _: int) -> Edit:
    """Whether room is protected, and whether APIs see the clusters of others."""
    wanted = settings()
    more = choose.choice(
        (
            {"capacity": {"protect": True}},
            {"capacity": {"protect": True}, "inventory": {"project": True}},
            {},
        )
    )
    return "reconciler.yaml", {**wanted, "spec": {**_spec(wanted), **more}}


def _spec(body: Body) -> dict[str, object]:
    found = body["spec"]
    return dict(found) if isinstance(found, Mapping) else {}


def _reported(choose: random.Random, _: int) -> Edit:
    cluster = f"k001-{choose.randrange(2)}"
    return f"feedback/{cluster}/w.yaml", choose.choice((report(), None))


def _role(choose: random.Random, _: int) -> Edit:
    cell, one = _at(choose)
    return f"kubefleet/roles/{cell}/{one}.yaml", role(cell, one, choose.choice(("get", "list")))


def _placement(choose: random.Random, _: int) -> Edit:
    cell, one = _at(choose)
    wanted = placement(cell, one, choose.choice((1, 2)))
    return f"kubefleet/placements/{cell}/{one}.yaml", choose.choice((wanted, wanted, None))


def _patched(choose: random.Random, number: int) -> Edit:
    cell = choose.randrange(CELLS)
    return f"kubefleet/overrides/{cell}.yaml", override(cell, f"v{number}")


def _member(choose: random.Random, _: int) -> Edit:
    cell, one = choose.randrange(CELLS), choose.randrange(2)
    taints = choose.choice(((), (taint(),)))
    return f"kubefleet/clusters/{cell}-{one}.yaml", member(cell, one, *taints)


def _fleet_rebalanced(choose: random.Random, number: int) -> Edit:
    cell, one = _at(choose)
    wanted = target(f"{FLEET}/v1", "ClusterResourcePlacement", f"p{cell:03}-{one}")
    return f"kubefleet/r{number}.yaml", rebalancer(f"f{number}", wanted)


def _hub_cluster(choose: random.Random, _: int) -> Edit:
    cell, one = choose.randrange(CELLS), choose.randrange(2)
    taints = choose.choice(((), (hub_taint(),)))
    return f"ocm/clusters/{cell}-{one}.yaml", managed(cell, one, *taints, cpu=choose.choice("48"))


def _scored(choose: random.Random, _: int) -> Edit:
    cell, one = choose.randrange(CELLS), choose.randrange(2)
    return f"ocm/scores/{cell}-{one}.yaml", score(cell, one, choose.randrange(-9, 9))


def _hub_placement(choose: random.Random, _: int) -> Edit:
    cell, one = _at(choose)
    wanted = hub_placement(cell, one, choose.choice((1, 2)))
    return f"ocm/placements/{cell}/{one}.yaml", choose.choice((wanted, wanted, None))


def _replica_set(choose: random.Random, number: int) -> Edit:
    cell, one = _at(choose)
    wanted = replica_set(cell, one, f"v{number}")
    return f"ocm/works/{cell}/{one}.yaml", choose.choice((wanted, wanted, None))


def _hub_rebalanced(choose: random.Random, number: int) -> Edit:
    cell, one = _at(choose)
    wanted = target(f"{OCM_GROUP}/v1beta1", "Placement", f"p{one}", f"ns{cell:03}")
    return f"ocm/r{number}.yaml", rebalancer(f"h{number}", wanted)


def _broken(choose: random.Random, number: int) -> Edit:
    cell, one = _at(choose)
    body = named(
        "Deployment", "apps/v1", f"w{cell:03}-{one}", f"ns{cell:03}", spec={"replicas": -number}
    )
    return f"karmada/work/{cell}/{one}.yaml", body


KARMADA_EDITS = (
    _scaled, _scaled, _policy, _overridden, _cluster, _rebalanced, _reported, _broken,
    _instructed, _lazy, _needed, _odd, _odd_policy, _protected,
)  # fmt: skip
FLEET_EDITS = (_role, _placement, _patched, _member, _fleet_rebalanced)
HUB_EDITS = (_hub_cluster, _scored, _hub_placement, _replica_set, _hub_rebalanced)


def write(folder: Path, passes: int, seed: int) -> None:
    """Write a history of so many passes."""
    git(folder, "init", "--quiet", "--initial-branch", "main")
    _commit(folder, dict(files()), "Begin", format_moment(NOW))
    go_on(folder, passes, seed, NOW)


def go_on(folder: Path, passes: int, seed: int, now: datetime) -> None:
    """Add so many passes to a history that ends at a moment."""
    choose = random.Random(seed)  # noqa: S311  # to be repeated, no secret
    done = 0
    while done < passes:
        now += timedelta(seconds=choose.randrange(1, MOST_SECONDS))
        before = git(folder, "rev-parse", "HEAD")
        assert main.run(["-C", str(folder), "reconcile", "--now", format_moment(now)]) in (0, 1)
        done += git(folder, "rev-parse", "HEAD") != before
        _commit(folder, dict(edits(choose, done)), f"Edit {done}", format_moment(now))


def _commit(folder: Path, changes: Mapping[str, Body | None], subject: str, at: str) -> None:
    for path, body in changes.items():
        place = folder / path
        if body is None:
            place.unlink(missing_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text(body))
    git(folder, "add", "--all")
    if git(folder, "status", "--porcelain"):
        git(folder, "commit", "--quiet", "--date", at, "--message", subject)


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
