"""One Karmada binding on average, over the batches of the published benchmark and two of ours."""

import gc
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np  # noqa: F401  # loaded before anything is measured

from benchmarks.figure import Figure
from benchmarks.goals import STRATEGIES
from benchmarks.ratio_row import FRESH, SIZES, cold_time, ratio
from reconciler.dialects.karmada.api.binding import Binding, decode_binding
from reconciler.dialects.karmada.api.cluster import (
    MemberCluster,
    Members,
    decode_cluster,
    members_of,
)
from reconciler.dialects.karmada.scheduler.schedule import ScheduleVerdict, schedule
from reconciler.model.moments import parse_moment
from tests.fleet_inputs import Body, binding, cluster

NOW = parse_moment("2026-11-20T12:00:00Z")
CHECKSUMS = Path(__file__).parents[1] / "fixtures/conformance/karmada/bench_checksums.json"
COUNTS = {100: 1000, 1000: 1000, 5000: 200}
ALONE = 90  # so many have other replicas each
DISTINCT = ", distinct"
UPSTREAM = {
    "dynamic": {100: 0.578, 1000: 5.65, 5000: 34.4},
    "duplicated": {100: 0.474, 1000: 5.26, 5000: 39.6},
}
OF_OTHERS = {100: 0.5, 1000: 5.5, 5000: 35.0}


def of_a_hundred_placements(number: int, strategy: str) -> Body:
    """A binding of one of a hundred placements, each without another cluster."""
    body: dict[str, Any] = json.loads(json.dumps(binding(number, strategy)))
    left_out = f"member-{10 * (number % 100):05d}"
    body["spec"]["placement"]["clusterAffinity"]["exclude"] = [left_out]
    return body


def with_nothing_shared(number: int, strategy: str) -> Body:
    """A binding whose placement, request and replicas are its own, of ninety at most."""
    body: dict[str, Any] = json.loads(json.dumps(binding(number, strategy)))
    spec, placement = body["spec"], body["spec"]["placement"]
    placement["clusterAffinity"]["exclude"] = [f"member-{number:05d}"]
    placement["clusterTolerations"].append({"key": f"own-{number}", "operator": "Exists"})
    rules = placement["replicaScheduling"].get("weightPreference", {}).get("staticWeightList", ())
    for rule in rules:
        rule["weight"] = 100 * rule["weight"] + number
    request = {"cpu": f"{100 + number}m", "memory": f"{128 + number}Mi"}
    spec["replicaRequirements"]["resourceRequest"] = request
    return body


CASES: tuple[tuple[str, Callable[[int, str], Body], Mapping[int, int]], ...] = (
    (", same placement", binding, COUNTS),
    (", 100 distinct placements", of_a_hundred_placements, COUNTS),
    (DISTINCT, with_nothing_shared, dict.fromkeys(SIZES, ALONE)),
)


def checksum(verdicts: Sequence[ScheduleVerdict]) -> str:
    """The digest of all results, as upstream's was made."""
    digest = hashlib.sha256()
    for number, verdict in enumerate(verdicts):
        targets = verdict.clusters or ()
        entries = ",".join(sorted(f"{target.name}={target.replicas}" for target in targets))
        digest.update(f"{number}:{entries}\n".encode())
    return digest.hexdigest()


def figures() -> Iterator[Figure]:
    """Measure each strategy at each size; means over a batch that is asked for the first time."""
    for size in SIZES:
        for suffix, make, counts in CASES:
            for strategy in STRATEGIES:
                bindings = [decode_binding(make(i, strategy)) for i in range(counts[size])]
                ours, verdicts = _measure(members_of(_decoded(size)), bindings)
                if make is binding:
                    _check(f"{strategy}/clusters={size}/bindings={counts[size]}", verdicts)
                upstream = UPSTREAM.get(strategy, OF_OTHERS)[size]
                title = f"Karmada {strategy}{suffix}"
                yield ratio(f"{title}, {size:,} clusters", upstream, ours)
                if suffix == DISTINCT:
                    decode = partial(_decoded, size)
                    cold = cold_time(decode, members_of, bindings[:FRESH], _ask, ready=id)
                    yield ratio(f"{title}, with index, {size:,} clusters", upstream, cold)


def _check(name: str, verdicts: Sequence[ScheduleVerdict]) -> None:
    """Leave where the results are others than upstream's."""
    if json.loads(CHECKSUMS.read_text())["checksums"][name] != checksum(verdicts):
        raise SystemExit(f"results of {name} are not upstream's")


def calls(count: Callable[[Callable[[], object]], int]) -> Iterator[tuple[str, int]]:
    """Yield what fifty bindings take at a hundred clusters, as something counts it."""
    views = _decoded(100)
    for suffix, make, _ in CASES:
        for strategy in STRATEGIES:
            bindings = [decode_binding(make(number, strategy)) for number in range(50)]
            yield f"Karmada {strategy}{suffix}", count(partial(_indexed, views, bindings))


def _decoded(size: int) -> list[MemberCluster]:
    return [decode_cluster(cluster(number)) for number in range(size)]


def _indexed(views: Sequence[MemberCluster], bindings: Sequence[Binding]) -> object:
    return _measure(members_of(views), bindings)


def _ask(binding: Binding, members: Members) -> object:
    return schedule(binding, members, NOW)


def _measure(members: Members, bindings: Sequence[Binding]) -> tuple[float, list[ScheduleVerdict]]:
    """Return the milliseconds of a binding, and all verdicts."""
    gc.collect()
    start = process_time()
    verdicts = [schedule(item, members, NOW) for item in bindings]
    return 1000 * (process_time() - start) / len(bindings), verdicts
