"""One Karmada binding on average, over the batches of the published benchmark and two of ours."""

import gc
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np  # noqa: F401  # loaded before anything is measured

from benchmarks.figure import Figure
from benchmarks.goals import STRATEGIES
from benchmarks.ratio_row import SIZES, ratios
from reconciler.dialects.karmada.api.binding import Binding, decode_binding
from reconciler.dialects.karmada.api.clusters import MemberCluster, decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.schedule import schedule
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.model.moments import parse_moment
from tests.fleet_inputs import Body, binding, cluster

NOW = parse_moment("2026-11-20T12:00:00Z")
CHECKSUMS = Path(__file__).parents[1] / "fixtures/conformance/karmada/bench_checksums.json"
COUNTS = {100: 1000, 1000: 1000, 5000: 200}
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


def with_own_request(number: int, strategy: str) -> Body:
    """A binding whose workload asks for what no other one asks for."""
    body: dict[str, Any] = json.loads(json.dumps(binding(number, strategy)))
    request = {"cpu": f"{100 + number}m", "memory": f"{128 + number}Mi"}
    body["spec"]["replicaRequirements"]["resourceRequest"] = request
    return body


CASES: tuple[tuple[str, Callable[[int, str], Body]], ...] = (
    ("", binding),
    (", 100 placements", of_a_hundred_placements),
    (", own requests", with_own_request),
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
    known = json.loads(CHECKSUMS.read_text())["checksums"]
    for size in SIZES:
        views = [decode_cluster(cluster(number)) for number in range(size)]
        for suffix, make in CASES:
            for strategy in STRATEGIES:
                count = COUNTS[size]
                bindings = [decode_binding(make(number, strategy)) for number in range(count)]
                ours, with_index, verdicts = _measure(views, bindings)
                name = f"{strategy}/clusters={size}/bindings={count}"
                if make is binding and known[name] != checksum(verdicts):
                    raise SystemExit(f"results of {name} are not upstream's")
                upstream = UPSTREAM.get(strategy, OF_OTHERS)[size]
                yield from ratios(f"Karmada {strategy}{suffix}", size, upstream, ours, with_index)


def calls(count: Callable[[Callable[[], object]], int]) -> Iterator[tuple[str, int]]:
    """Yield what fifty bindings take at a hundred clusters, as something counts it."""
    views = [decode_cluster(cluster(number)) for number in range(100)]
    for suffix, make in CASES:
        for strategy in STRATEGIES:
            bindings = [decode_binding(make(number, strategy)) for number in range(50)]
            yield f"Karmada {strategy}{suffix}", count(partial(_measure, views, bindings))


def _measure(
    views: Sequence[MemberCluster], bindings: Sequence[Binding]
) -> tuple[float, float, list[ScheduleVerdict]]:
    """Return the milliseconds of a binding without and with the index, and all verdicts."""
    gc.collect()
    start = process_time()
    members = members_of(views)
    indexed = process_time()
    verdicts = [schedule(item, members, NOW) for item in bindings]
    end = process_time()
    count = len(bindings)
    return 1000 * (end - indexed) / count, 1000 * (end - start) / count, verdicts
