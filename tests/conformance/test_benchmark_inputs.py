"""The results on the benchmark inputs are upstream's, by checksum."""

import hashlib
import json
from pathlib import Path

import pytest

from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.cluster import Members, decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.schedule import schedule
from reconciler.model.moments import parse_moment
from tests.fleet_inputs import binding, cluster

FOLDER = Path(__file__).parents[2] / "fixtures/conformance/karmada"
CHECKSUMS: dict[str, str] = json.loads((FOLDER / "bench_checksums.json").read_text())["checksums"]
NOW = parse_moment("2026-11-20T12:00:00Z")
FLEETS: dict[int, Members] = {}


def fleet(size: int) -> Members:
    """One fleet of each size, as in a pass."""
    if size not in FLEETS:
        FLEETS[size] = members_of(decode_cluster(cluster(i)) for i in range(size))
    return FLEETS[size]


@pytest.mark.parametrize("name", sorted(CHECKSUMS))
def test_results_have_the_checksum_of_upstream(name: str) -> None:
    """Every strategy at every size places each replica where upstream does."""
    strategy, clusters, bindings = name.split("/")
    members = fleet(int(clusters.removeprefix("clusters=")))
    digest = hashlib.sha256()
    for j in range(int(bindings.removeprefix("bindings="))):
        targets = schedule(decode_binding(binding(j, strategy)), members, NOW).clusters or ()
        entries = ",".join(sorted(f"{target.name}={target.replicas}" for target in targets))
        digest.update(f"{j}:{entries}\n".encode())

    assert CHECKSUMS[name] == digest.hexdigest()
