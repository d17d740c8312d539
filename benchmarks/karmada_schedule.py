"""One Karmada binding on average, over the batches of the published benchmark and two of ours."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.ratio_row import SIZES, Row
from reconciler.dialects.karmada.api.binding import Binding, decode_binding
from reconciler.dialects.karmada.api.clusters import decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.schedule import schedule
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.model.moments import parse_moment
from tests.fleet_inputs import Body, binding, cluster

NOW = parse_moment("2026-11-20T12:00:00Z")
CHECKSUMS = Path(__file__).parents[1] / "fixtures/conformance/karmada/bench_checksums.json"
COUNTS = {100: 1000, 1000: 1000, 5000: 200}
GOALS = {100: 5, 1000: 20, 5000: 50}
GOAL_OF_REQUESTS = {100: 1, 1000: 5, 5000: 10}
STRATEGIES = ("dynamic", "duplicated", "aggregated", "static", "spread")
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


def rows() -> Iterator[Row]:
    """Measure each strategy at each size."""
    known = json.loads(CHECKSUMS.read_text())["checksums"]
    for size in SIZES:
        views = [decode_cluster(cluster(number)) for number in range(size)]
        for suffix, make in CASES:
            for strategy in STRATEGIES:
                count = COUNTS[size]
                bindings = [decode_binding(make(number, strategy)) for number in range(count)]
                row, verdicts = _measure(strategy + suffix, views, bindings)
                name = f"{strategy}/clusters={size}/bindings={count}"
                if make is binding and known[name] != checksum(verdicts):
                    raise SystemExit(f"results of {name} are not upstream's")
                yield row


def _measure(
    question: str, views: Sequence[object], bindings: Sequence[Binding]
) -> tuple[Row, list[ScheduleVerdict]]:
    size, count = len(views), len(bindings)
    start = process_time()
    members = members_of(views)  # type: ignore[arg-type]  # what decode_cluster returned
    indexed = process_time()
    verdicts = [schedule(item, members, NOW) for item in bindings]
    end = process_time()
    goals = GOAL_OF_REQUESTS if question.endswith("own requests") else GOALS
    row = Row(
        question=f"Karmada {question}",
        clusters=size,
        upstream=UPSTREAM.get(question.split(",", maxsplit=1)[0], OF_OTHERS)[size],
        goal=goals[size],
        ours=1000 * (end - indexed) / count,
        with_index=1000 * (end - start) / count,
    )
    return row, verdicts
