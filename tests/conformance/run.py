"""Reading vectors, running them both ways, counting."""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.builders import Body
from tests.conformance import judgements
from tests.conformance.door.door import LeftOut, Refused
from tests.conformance.families import FAMILIES, Check, dialect_of
from tests.conformance.upstream_refusals import rules_refusing, upstream_refuses

UNKNOWN = "family is not built"
DOOR = "front door"
REFUSED = "refused: "


@dataclass(frozen=True, slots=True)
class Result:
    """One case: its label is `dialect/family`, `difference` is `None` when it passed.

    `left_out` says why a case is not written as a repository, or not asked at all, `""` if it is.
    `excepted` says that the difference is known, and why is written down.
    """

    label: str
    name: str
    difference: str | None
    left_out: str = ""
    excepted: bool = False

    @property
    def key(self) -> str:
        """The name under which exceptions and the ratchet know the case."""
        return f"{self.label}:{self.name}"

    @property
    def failed(self) -> bool:
        """Whether it differs, and nobody knows why."""
        return self.difference is not None and not self.excepted


def read_cases(path: Path) -> Iterator[Body]:
    """Yield the vectors of a `.jsonl` or `.jsonl.gz` file."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in text.decode().split("\n"):  # splitlines also splits at U+2028
        if line.strip():
            yield cast(Body, json.loads(line))


def label_of(case: Body) -> str:
    """Return `dialect/family` of a vector."""
    return f"{dialect_of(case)}/{case['family']}"


def run_case(case: Body) -> Result:
    """Run one vector through the public function of its rule."""
    label = label_of(case)
    family = FAMILIES.get(label)
    if family is None:
        return Result(label, str(case["name"]), UNKNOWN)
    try:
        return _run(label, case, family.direct)
    except LeftOut as reason:
        return _left_out(label, case, reason)


def walk_case(case: Body) -> Result:
    """Run one vector through the front door, as a repository."""
    label = label_of(case)
    family = FAMILIES.get(label)
    name = str(case["name"])
    if family is None or family.door is None:
        why = judgements.NO_DOOR.get(label, UNKNOWN)
        return Result(f"{DOOR} {label}", name, None, left_out=why)
    try:
        return _run(f"{DOOR} {label}", case, family.door)
    except Refused as rule:
        known = judgements.refusal_of(f"{label}:{name}")
        if upstream_refuses(str(rule), case):
            known = str(rule)
        return _refused(f"{DOOR} {label}", name, str(rule), known)
    except LeftOut as reason:
        return _left_out(f"{DOOR} {label}", case, reason)


def _left_out(label: str, case: Body, reason: LeftOut) -> Result:
    why = judgements.LEFT_OUT[str(reason)]
    return Result(label, str(case["name"]), None, left_out=why)


def _refused(label: str, name: str, rule: str, known: str) -> Result:
    """A refusal is upstream's, too, if its rule says so, or exceptions.json of this vector."""
    if rule == known:
        return Result(label, name, None, left_out=f"{REFUSED}{rule}")
    return Result(label, name, f"refused by {rule}, which upstream is not known to do")


def _run(label: str, case: Body, check: Check) -> Result:
    name = str(case["name"])
    try:
        difference = check(case)
    except LeftOut:
        raise
    except Exception as error:  # noqa: BLE001 - a crash is a difference like another
        difference = f"{type(error).__name__}: {error}"
    key = f"{label_of(case)}:{name}"
    if label.startswith(DOOR) and difference is None and judgements.refusal_of(key):
        difference = "accepted, while exceptions.json says that it is refused"
    if label.startswith(DOOR) and difference is None and family_places(case):
        refusing = rules_refusing(case)
        difference = f"accepted, while upstream refuses it by {refusing}" if refusing else None
    known = difference is not None and key in judgements.CASES
    return Result(label, name, difference, excepted=known)


def family_places(case: Body) -> bool:
    """Return whether a family is of what happens once its inputs are admitted."""
    return not label_of(case).endswith("admission")


def run_files(paths: Sequence[Path]) -> int:
    """Run vector files both ways and print the figures; return the exit code."""
    direct: list[Result] = []
    door: list[Result] = []
    for path in paths:
        cases = list(read_cases(path))
        for total, run in ((direct, run_case), (door, walk_case)):
            results = [run(case) for case in cases]
            total.extend(results)
            for title, some in _by_label(results):
                print(f"{title} ({path.name}): {summary(some)}")
            for item in results:
                if item.failed:
                    print(f"{item.key}: {item.difference}")
    for label in sorted({item.label for item in direct}):
        for line in _aside(label):
            print(line)
    print(f"{DOOR}, left out:")
    for reason, count in reasons(door).items():
        refusal = judgements.REFUSED.get(reason.removeprefix(REFUSED))
        print(f"  {count:5} {reason}" + (f": {refusal['why']}" if refusal else ""))
    print(f"{DOOR}: {summary(door)}")
    print(summary(direct))
    return 1 if any(item.failed for item in (*direct, *door)) else 0


def _by_label(results: Iterable[Result]) -> list[tuple[str, list[Result]]]:
    found: dict[str, list[Result]] = {}
    for item in results:
        found.setdefault(item.label, []).append(item)
    return sorted(found.items())


def _aside(label: str) -> Iterator[str]:
    """Yield what of a family is not compared, excepted or forgiven, and why."""
    for title, fields in (
        ("not compared", judgements.NOT_COMPARED),
        (f"not compared at the {DOOR}", judgements.NOT_COMPARED_AT_THE_DOOR),
        (f"compared only at the {DOOR}", judgements.ONLY_AT_THE_DOOR),
        ("forgiven", judgements.FORGIVEN),
    ):
        yield from (
            f"{label}: {title}: {name}: {why}" for name, why in fields.get(label, {}).items()
        )
    for key, why in judgements.CASES.items():
        if key.startswith(f"{label}:"):
            yield f"{key}: excepted: {why}"
    if label == "karmada/policyadmission":
        for name, named in judgements.FIELDS_NAMED.items():
            yield from (f"{label}:{name}: names {ours}: {why}" for ours, why in named.items())
    if label == "karmada/schedule":
        for item in judgements.LATER_STEPS:
            cases, parts = ", ".join(item["cases"]), " and ".join(item["parts"])
            yield f"{label}: a later step changes {parts} of {cases}: {item['why']}"


def reasons(results: Iterable[Result]) -> dict[str, int]:
    """Return how many vectors are left out for each reason, by reason."""
    return dict(sorted(Counter(item.left_out for item in results if item.left_out).items()))


def summary(results: Sequence[Result]) -> str:
    """Return the figures as one line."""
    failed = sum(item.failed for item in results)
    known = sum(item.excepted for item in results)
    left = sum(bool(item.left_out) for item in results)
    passed = len(results) - failed - known - left
    tail = f", {known} excepted" if known else ""
    return f"{passed} passed, {failed} failed{tail}" + (f", {left} left out" if left else "")
