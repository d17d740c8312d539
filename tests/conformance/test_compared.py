"""What of a vector is compared, what is forgiven, and that both hold of a hub that is adopted."""

from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import cast

import pytest

from tests.builders import Body
from tests.conformance import judgements
from tests.conformance.door import karmada
from tests.conformance.door.door import LeftOut
from tests.conformance.families import FAMILIES, Check
from tests.conformance.run import label_of, read_cases, run_case, walk_case
from tests.conformance.test_vectors import FILES, FIXTURES, name_of

TRIED = 40
"""How many vectors of a family show at most that a value is compared."""

KEYED = {"annotations", "clusters", "data", "decisions", "estimates", "labels", "matchLabels"}
KEYED |= {"nodeSelector", "rescheduleTriggeredAt", "resourceRequest", "scores", "totals"}
"""Fields that hold a value for each of many names: one stands for all."""

ANY, ITEM = "*", "[]"
CHOICE = "anyOf.[]."
FieldPath = tuple[str, ...]


def _paths(value: object, at: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield where there are values: keys, and one step for the items of a list."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            keyed = bool(at) and at[-1] in KEYED
            yield from _paths(item, (*at, ANY if keyed else str(key)))
    elif isinstance(value, list) and value:
        for item in value:
            yield from _paths(item, (*at, ITEM))
    else:
        yield at


def _tampered(value: object, path: FieldPath) -> object:
    """Return a value that is another at a path, as far as it has that path."""
    if not path:
        return _other(value)
    if path[0] == ITEM and isinstance(value, list):
        return [_tampered(item, path[1:]) for item in value]
    if isinstance(value, Mapping):
        return {
            key: _tampered(item, path[1:]) if path[0] in (key, ANY) else item
            for key, item in value.items()
        }
    return value


def _other(value: object) -> object:
    """Return another value of the same type; what is longer than its path stays."""
    match value:
        case bool():
            return not value
        case int() | float():
            return -31337
        case str() | None:
            return "tampered"
        case []:
            return ["tampered"]
        case {} if not value:
            return {"tampered": "tampered"}
    return value


def _once(check: Check) -> Check:
    """Return a check that judges each vector once, however often it is asked."""
    known: dict[int, str | Exception | None] = {}

    def checked(case: Body) -> str | None:
        if id(case) not in known:
            try:
                known[id(case)] = check(case)
            except Exception as error:  # noqa: BLE001 - raised again, each time
                known[id(case)] = error
        found = known[id(case)]
        if isinstance(found, Exception):
            raise found
        return found

    return checked


def _is_compared(check: Check, untouched: Check, cases: list[Body], path: FieldPath) -> bool:
    """Whether another value at a path is a difference in any of these vectors.

    What only vectors have that are left out is counted with them. `untouched` is the same check,
    of vectors as they are.
    """
    tried = 0
    for case in cases:
        expected = _tampered(case["expected"], path)
        try:
            if untouched(case) is None and check({**case, "expected": expected}) is not None:
                return True
        except LeftOut:
            continue
        except Exception:  # noqa: BLE001 - what is read is compared
            return True
        tried += 1
        if tried == TRIED:
            break
    return not tried


def _not_compared(label: str, check: Check) -> list[str]:
    """The paths of a family that are not compared."""
    cases = [case for file in FILES for case in read_cases(file) if label_of(case) == label]
    by_path: dict[FieldPath, list[Body]] = {}
    untouched = _once(check)
    for case in cases:
        for path in dict.fromkeys(_paths(case["expected"])):
            by_path.setdefault(path, []).append(case)
    return sorted(
        ".".join(path).removeprefix(CHOICE)
        for path, found in by_path.items()
        if not _is_compared(check, untouched, found, path)
    )


def _covers(listed: str, path: str) -> bool:
    return path == listed or path.startswith(f"{listed}.")


@pytest.mark.cpu_seconds(120)  # each value of each family
@pytest.mark.parametrize("door", [False, True], ids=["direct", "front-door"])
@pytest.mark.parametrize("label", sorted(FAMILIES))
def test_what_is_not_compared_is_written_down(label: str, door: bool) -> None:  # noqa: FBT001
    """A value of `expected` is either compared or listed with a reason, and never both."""
    check = FAMILIES[label].door if door else FAMILIES[label].direct
    if check is None:
        assert label in judgements.NO_DOOR
        return
    listed = dict(judgements.NOT_COMPARED.get(label, {}))
    if door:
        listed |= judgements.NOT_COMPARED_AT_THE_DOOR.get(label, {})
        for name in judgements.ONLY_AT_THE_DOOR.get(label, {}):
            del listed[name]
    found = _not_compared(label, check)
    bare = [path for path in found if not any(_covers(name, path) for name in listed)]
    own = judgements.NOT_COMPARED_AT_THE_DOOR.get(label, {}) if door else listed
    idle = [name for name in own if not any(_covers(name, path) for path in found)]

    assert ([], []) == (bare, idle)


GROUPS = [
    *judgements.FORGIVEN.items(),
    *(("karmada/bindingfromtemplate", part) for part in judgements.LEFT_ASIDE.values()),
    ("karmada/policyadmission", judgements.FIELDS_NAMED),
]
LINES = [(label, what, reasons) for label, reasons in GROUPS for what in reasons]
LINES += [(case.partition(":")[0], case, judgements.CASES) for case in judgements.CASES]


@pytest.mark.cpu_seconds(60)  # vectors of a family until one fails
@pytest.mark.parametrize(("label", "what", "reasons"), LINES, ids=[f"{a}-{b}" for a, b, _ in LINES])
def test_nothing_is_forgiven_in_vain(
    label: str, what: str, reasons: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that no vector needs would hide the next one that does."""
    monkeypatch.delitem(cast(MutableMapping[str, object], reasons), what)
    cases = (case for file in FILES for case in read_cases(file) if label_of(case) == label)

    assert any(run_case(case).failed or walk_case(case).failed for case in cases)


ADOPTED_FILES = sorted((FIXTURES / "karmada").glob("schedule*.jsonl.gz"))


@pytest.mark.cpu_seconds(120)  # hundreds of adoptions, each with its passes
@pytest.mark.parametrize("path", ADOPTED_FILES, ids=name_of)
def test_schedules_pass_through_adoption(path: Path) -> None:
    """Whatever passes as a repository does; ties go by the uid of the hub, under any name."""
    told: Counter[str] = Counter()
    for case in read_cases(path):
        try:
            assert karmada.check_schedule(case) is None, case["name"]
        except LeftOut:
            told["left out"] += 1
            continue
        assert karmada.check_adopted_schedule(case) is None, case["name"]
        told["passed"] += 1

    assert told["passed"] > told["left out"]
