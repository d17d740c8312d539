"""What passed once must pass: the shared vectors, and upstream's results on benchmark inputs."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.cluster import Members, decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.schedule import schedule
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance import judgements
from tests.conformance.run import REFUSED, Result, read_cases, reasons, run_case, walk_case
from tests.fleet_inputs import binding, cluster

FIXTURES = Path(__file__).parents[2] / "fixtures/conformance"
FILES = sorted(FIXTURES.glob("*/*.jsonl.gz"))
RATCHET: dict[str, object] = json.loads((judgements.HERE / "ratchet.json").read_text())


def name_of(path: Path) -> str:
    """The name of a file of vectors in the ratchet."""
    return f"{path.parent.name}/{path.name.removesuffix('.jsonl.gz')}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_vectors_that_must_pass_do(path: Path) -> None:
    """The first difference of each failing case is shown."""
    results = [run_case(case) for case in read_cases(path)]
    families, cases = (cast(list[str], RATCHET[name]) for name in ("families", "cases"))
    failed = {
        result.key: result.difference
        for result in results
        if result.failed and (result.label in families or result.key in cases)
    }

    assert {} == failed


@pytest.mark.cpu_seconds(120)  # hundreds of passes
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_vectors_pass_through_the_front_door(path: Path) -> None:
    """As repositories they have upstream's outputs; what is left out is counted by reason."""
    results = [walk_case(case) for case in read_cases(path)]
    failed = {result.key: result.difference for result in results if result.failed}

    assert {} == failed
    assert cast(Mapping[str, object], RATCHET["frontDoor"])[name_of(path)] == counts(results)


def counts(results: list[Result]) -> Body:
    """What the ratchet holds of a file."""
    left_out = reasons(results)
    passed = sum(result.difference is None and not result.left_out for result in results)
    return {"passed": passed, "leftOut": left_out}


def test_every_reason_to_leave_out_a_vector_is_in_use() -> None:
    """What is listed and never the case would be a judgement of nothing."""
    files = cast(Mapping[str, Mapping[str, Mapping[str, int]]], RATCHET["frontDoor"]).values()
    used = {reason for file in files for reason in file["leftOut"]}
    listed = {*judgements.LEFT_OUT.values(), *judgements.NO_DOOR.values()}
    listed |= {f"{REFUSED}{rule}" for rule in judgements.REFUSED}

    assert sorted(listed) == sorted(used)


def test_every_judgement_says_why() -> None:
    """An exception is a named case and a reason, and so is whatever else is forgiven."""

    def texts(value: object) -> list[object]:
        if isinstance(value, Mapping | list):
            parts = value.values() if isinstance(value, Mapping) else value
            return [text for item in parts for text in texts(item)]
        return [value]

    assert all(":" in key for key in judgements.CASES)
    assert all(isinstance(text, str) and text.strip() for text in texts(judgements.JUDGEMENTS))


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
