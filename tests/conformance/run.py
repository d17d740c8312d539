"""Reading vectors, running them both ways, counting."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.builders import Body
from tests.conformance import judgements
from tests.conformance.door.door import LeftOut, Refused
from tests.conformance.families import FAMILIES, Check, dialect_of

POLICIES = ("ClusterPropagationPolicy", "PropagationPolicy")
FIELDS = ("provider", "region", "zone")
OPERATORS = ("In", "NotIn")


def rules_refusing(case: Body) -> list[str]:
    """Return the rules of upstream that refuse an input of a vector, by their ids here."""
    return [rule for rule in RULES if upstream_refuses(rule, case)]


def upstream_refuses(rule: str, case: Body) -> bool:
    """Return whether a rule of upstream, known here by this id, refuses an input of a vector."""
    refuses = RULES.get(rule)
    return refuses is not None and refuses(cast(Body, case["input"]))


def _all(value: object, name: str) -> Iterator[Body]:
    """Yield the mappings that stand under a name, at any depth."""
    for key, one in value.items() if isinstance(value, Mapping) else ():
        if key == name and isinstance(one, Mapping):
            yield one
        yield from _all(one, name)
    for one in value if isinstance(value, list) else ():
        yield from _all(one, name)


def _list(body: object, *path: str) -> Sequence[Body]:
    """Return the list at a path, an empty one where there is none."""
    for name in path:
        body = cast(Body, body).get(name) or {}
    return cast(Sequence[Body], body or ())


def _placements(given: Body) -> Iterator[Body]:
    return _all(given, "placement")


def _terms(given: Body) -> Iterator[Body]:
    for placement in _placements(given):
        yield from _list(placement, "clusterAffinities")


def _expressions(given: Body) -> Iterator[Body]:
    """Yield the expressions on fields of clusters, but for those of static weights."""
    for placement in _placements(given):
        groups = _list(placement, "clusterAffinities")
        inner = [group for term in groups for group in _list(term, "overflowAffinities")]
        for term in (placement.get("clusterAffinity") or {}, *groups, *inner):
            yield from _list(term, "fieldSelector", "matchExpressions")


def _overflowing(given: Body) -> Iterator[tuple[Body, Body]]:
    for placement in _placements(given):
        for term in _list(placement, "clusterAffinities"):
            if term.get("overflowAffinities"):
                yield placement, term


def _divides_by_room(placement: Body) -> bool:
    """pkg/util/validation/validation.go: Aggregated, or Weighted with a dynamic weight."""
    scheduling = cast(Body, placement.get("replicaScheduling") or {})
    if scheduling.get("replicaSchedulingType", "Divided") != "Divided":
        return False
    weights = cast(Body, scheduling.get("weightPreference") or {})
    preference = scheduling.get("replicaDivisionPreference")
    return preference == "Aggregated" or bool(
        preference == "Weighted" and weights.get("dynamicWeight")
    )


def _names_clusters(term: Body) -> bool:
    named = term.get("clusterNames") or term.get("exclude")
    selectors = (term.get(name) for name in ("labelSelector", "fieldSelector"))
    return bool(named) or any(one is not None for one in selectors)


def _fields(placement: Body) -> list[object]:
    """Return the fields that are constrained, after the webhook's default."""
    constraints = _list(placement, "spreadConstraints")
    return [
        one.get("spreadByField") or (None if one.get("spreadByLabel") else "cluster")
        for one in constraints
    ]


def _is_preempting_all(given: Body) -> bool:
    policies = [one for one in _specs(given) if one.get("preemption") == "Always"]
    return any(not one.get("name") for spec in policies for one in _list(spec, "resourceSelectors"))


def _specs(given: Body) -> Iterator[Body]:
    """Yield the specs that select resources."""
    return (spec for spec in _all(given, "spec") if "resourceSelectors" in spec)


def _has_equal_taints(given: Body) -> bool:
    for cluster in _list(given, "clusters"):
        pairs = [(one.get("key"), one.get("effect")) for one in _list(cluster, "spec", "taints")]
        if len(set(pairs)) < len(pairs):
            return True
    return False


def _is_unordered(given: Body) -> bool:
    bounds = (
        (cast(int, one.get("minGroups") or 1), cast(int, one.get("maxGroups") or 0))
        for placement in _placements(given)
        for one in _list(placement, "spreadConstraints")
    )
    return any(0 < high < low for low, high in bounds)


def _repeated(values: Sequence[object]) -> bool:
    return len(set(values)) < len(values)


RULES: Mapping[str, Callable[[Body], bool]] = {
    "cluster-taint-unique": _has_equal_taints,
    "policy-affinity-exclusive": lambda given: any(
        one.get("clusterAffinity") is not None and bool(one.get("clusterAffinities"))
        for one in _placements(given)
    ),
    "policy-affinity-unique": lambda given: any(
        _repeated([term.get("affinityName") for term in _list(one, "clusterAffinities")])
        for one in _placements(given)
    ),
    "policy-field-key": lambda given: any(
        one.get("key") not in FIELDS for one in _expressions(given)
    ),
    "policy-field-operator": lambda given: any(
        one.get("operator") not in OPERATORS for one in _expressions(given)
    ),
    "policy-overflow-division": lambda given: any(
        not _divides_by_room(placement) for placement, _ in _overflowing(given)
    ),
    "policy-overflow-primary": lambda given: any(
        not _names_clusters(term) for _, term in _overflowing(given)
    ),
    "policy-overflow-unique": lambda given: any(
        _repeated([one.get("affinityName") for one in (term, *_list(term, "overflowAffinities"))])
        for term in _terms(given)
    ),
    "policy-preemption-name": _is_preempting_all,
    "policy-spread-bounds": _is_unordered,
    "policy-spread-cluster": lambda given: any(
        any(_fields(one)) and "cluster" not in _fields(one) for one in _placements(given)
    ),
    "policy-spread-unique": lambda given: any(
        _repeated([field for field in _fields(one) if field]) for one in _placements(given)
    ),
    "policy-toleration-operator": lambda given: any(
        one.get("operator") in ("Lt", "Gt")
        for placement in _placements(given)
        for one in _list(placement, "clusterTolerations")
    ),
}
"""Whether upstream refuses an input, by the id that the rule has here.

Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidatePlacement`,
`ValidateOverflowAffinities`, `ValidateSpreadConstraint`;
pkg/webhook/propagationpolicy/validating.go `Handle`;
pkg/apis/cluster/validation/validation.go `ValidateClusterTaints`.
"""


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
