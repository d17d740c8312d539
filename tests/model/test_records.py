"""Values with fields mean what the standard library's mean, and are refused what they cannot be."""

import ast
import dataclasses
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property, partial
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.records import dataclass, field, field_names, replace
from tests.house.sources import SOURCES, text_of

V = TypeVar("V")


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """All fields count."""

    name: Any
    number: Any = 7
    KIND: ClassVar[str] = "pair"


@dataclass(frozen=True, slots=True, order=True)
class Noted:
    """One field is left out of comparisons, one out of what is printed."""

    name: Any
    number: Any = field(default=7, repr=False)
    note: Any = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Generic[V]):
    """All are named, and one is made anew each time."""

    name: V
    more: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Counter:
    """It is changed in place."""

    name: Any
    number: Any = 0


@dataclass(slots=True, eq=False)
class Table:
    """One is no other, whatever they hold."""

    name: Any
    number: Any = field(default=0, repr=False)


@dataclass(eq=False)
class Open:
    """It has room for what is computed once, and may be held weakly."""

    name: str

    @cached_property
    def letters(self) -> list[str]:
        """Of the name."""
        return list(self.name)


OURS: tuple[type, ...] = (Pair, Noted, Named, Counter, Table)


def theirs_of(ours: type) -> Any:
    """The same declaration, by the standard library."""
    tree = ast.parse(Path(__file__).read_text())
    declared = next(
        one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == ours.__name__
    )
    names: dict[str, Any] = {**globals(), "dataclass": dataclasses.dataclass}
    names["field"] = dataclasses.field
    exec(compile(ast.Module([declared], []), __file__, "exec"), names)  # noqa: S102  # this file
    return names[ours.__name__]


THEIRS = {ours: theirs_of(ours) for ours in OURS}
CONTENTS = st.one_of(st.integers(0, 3), st.sampled_from(["a", "b"]), st.just(None))
FIELDS = st.lists(CONTENTS, min_size=2, max_size=2)


def answer(ask: Callable[[], object]) -> object:
    """What comes of a question: its answer, or that it is none."""
    try:
        return ask()
    except (TypeError, AttributeError):
        return "refused"


def answers(kind: Any, first: list[Any], second: list[Any]) -> Iterator[object]:
    """What two values of a class say to every question that such values are asked."""
    names = ("name", "more") if kind.__name__ == "Named" else ("name", "number")
    one, other = (kind(**dict(zip(names, values, strict=True))) for values in (first, second))
    yield from (repr(one), one == other, one != other, one == one, one != first)  # noqa: PLR0124
    for compare in (lt, le, gt, ge):
        yield answer(partial(compare, one, other))
    yield answer(lambda: (hash(one) == hash(other)) or one != other)
    yield answer(lambda: setattr(one, "name", 1))
    yield (answer(lambda: setattr(one, "unknown", 1)), kind.__match_args__, kind.__doc__)
    yield (
        repr(kind(first[0]) if names[1] == "number" else kind(name=first[0])),
        one == deepcopy(one),
    )


@given(st.sampled_from(OURS), FIELDS, FIELDS)
def test_they_answer_as_those_of_the_standard_library(
    ours: type, first: list[Any], second: list[Any]
) -> None:
    """Equality, order, text, copies, what is refused; equal values have equal hashes."""
    assert [*answers(THEIRS[ours], first, second)] == [*answers(ours, first, second)]


@pytest.mark.parametrize("ours", [Pair, Noted, Counter])
def test_they_travel_between_processes(ours: Any) -> None:
    """By pickle, and what is left out of comparisons goes with them."""
    value = ours("a", 3)

    assert value == pickle.loads(pickle.dumps(value))  # noqa: S301  # our own
    assert "kept" == pickle.loads(pickle.dumps(Noted("a", 3, "kept"))).note  # noqa: S301  # our own


def test_what_is_replaced_is_the_rest_of_it() -> None:
    """The value itself stays, and one without such a field is refused."""
    value = Noted("a", 3, "kept")

    other = replace(value, name="b")

    assert ("b", 3, "kept") == (other.name, other.number, other.note)
    assert ("a", 3, "kept") == (value.name, value.number, value.note)
    with pytest.raises(TypeError):
        replace(value, colour=1)  # type: ignore[call-arg]  # what is tried


def test_each_has_a_default_of_its_own() -> None:
    """What is filled in one is not in another."""
    first, second = Named(name="a"), Named(name="a")
    first.more.append(1)

    assert ([1], []) == (first.more, second.more)
    assert ("name", "more") == field_names(Named) == field_names(first)


def test_one_without_slots_keeps_what_it_computes_and_is_held_weakly() -> None:
    """As a table does that ends with its owner."""
    value = Open("ab")

    assert value.letters is value.letters
    assert value is weakref.ref(value)()
    assert value != Open("ab")


def test_what_a_struct_cannot_be_is_refused() -> None:
    """Where it is declared, not where it is used."""
    with pytest.raises(TypeError, match="must use `dataclasses`"):

        @dataclass(frozen=True, slots=True)
        class Longer(Exception):
            length: int

    with pytest.raises(TypeError, match="init"):

        @dataclass(frozen=True, slots=True)
        class Late:
            name: str = field(init=False)


NEEDS = ("init=False", "InitVar", "object.__setattr__")


def library_classes(source: str) -> Iterator[ast.ClassDef]:
    """The classes of a file that the standard library makes."""
    for node in ast.walk(ast.parse(text_of(source))):
        if isinstance(node, ast.ClassDef):
            made = [ast.unparse(one) for one in node.decorator_list]
            if any(one.startswith("dataclasses.dataclass") for one in made):
                yield node


def test_the_standard_library_makes_what_a_struct_cannot_be() -> None:
    """Each costs a third of a millisecond; and its fields are the standard library's, too."""
    classes = [one for source in SOURCES for one in library_classes(source)]
    families = {ast.unparse(base) for one in classes for base in one.bases}
    needless = [
        one.name
        for one in classes
        if not one.bases
        and one.name not in families
        and not any(need in ast.unparse(one) for need in NEEDS)
    ]
    mixed = [
        one.name
        for one in classes
        for line in one.body
        if isinstance(line, ast.AnnAssign) and ast.unparse(line).partition(" = ")[2][:6] == "field("
    ]

    assert ([], []) == (needless, mixed)
    assert [] == [
        source
        for source in SOURCES
        if source != "model/records.py" and "\nfrom dataclasses import" in text_of(source)
    ]


def test_a_class_may_extend_a_record() -> None:
    """With fields that all count."""

    @dataclass(frozen=True, slots=True)
    class Counted(Pair):
        count: int = 0

    value = Counted("a", 2)
    assert Counted("a", 2, 3) == replace(value, count=3)
    assert value != Counted("a", 2, 3)
    with pytest.raises(TypeError, match="extends a record, so it can hide no field"):

        @dataclass(frozen=True, slots=True)
        class Hiding(Pair):
            count: int = field(default=0, compare=False)


MISTAKES = """\
from reconciler.model.records import replace
from reconciler.model.world import Manifest
from reconciler.model.identity import Origin

def try_all(manifest: Manifest, origin: Origin) -> None:
    replace(manifest, bodies={})
    replace(manifest, origin="a.yaml")
    replace(origin, index="1")
    origin.path = "b.yaml"
    Origin(pth="a.yaml")
"""


@pytest.mark.cpu_seconds(60)
def test_a_type_checker_refuses_wrong_names_and_types(tmp_path: Path) -> None:
    """In a constructor, an assignment, and every replace."""
    (tmp_path / "mistakes.py").write_text(MISTAKES)

    told = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "mistakes.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    lines = {int(line.split(":")[1]) for line in told.splitlines() if ": error:" in line}
    assert {6, 7, 8, 9, 10} == lines, told
