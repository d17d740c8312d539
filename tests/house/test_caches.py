"""What remembers says so: no frozen value hides a table, and no key is an address."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.sources import trees_with

TABLES = frozenset(
    ("AnswerCache", "KeyedCache", "bytearray", "defaultdict", "deque", "dict", "list", "set")
)
TEXTS = frozenset(
    (
        "ObjectKey",
        "Placed",
        "Quantity",
        "datetime",
        "int",
        "int | None",
        "str",
        "str | int",
        "tuple[str, ...]",
    )
)
"""What parameters of a cached function may be: texts, moments, what is made of them and numbers."""

NO_PARAMETER = frozenset(("environment", "languages", "load_schemas", "package_digest"))
"""Cached since they read what is part of this build, once and late."""


def is_frozen(node: ast.ClassDef) -> bool:
    """Whether a class is a frozen dataclass."""
    return any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)


def tables_of(tree: ast.Module) -> Iterator[str]:
    """The fields of frozen values that can be filled later."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and is_frozen(node):
            for item in node.body:
                if isinstance(item, ast.AnnAssign):
                    kind = ast.unparse(item.annotation).partition("[")[0]
                    if kind in TABLES:
                        yield f"{node.name}.{ast.unparse(item.target)}"


def cached(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions that `functools` remembers answers of."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            told = " ".join(map(name_of, node.decorator_list))
            if "cache" in told and "cached_property" not in told:
                yield node


def name_of(decorator: ast.expr) -> str:
    """What decorates, without what it is given."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def test_a_frozen_value_holds_no_table() -> None:
    """What is filled after it was made is no value, so it is not called frozen."""
    found = [(source, *tables_of(tree)) for source, tree in trees_with("frozen=True")]

    assert [] == [tables for tables in found if len(tables) > 1]


def test_no_address_is_a_key() -> None:
    """`Same` holds its object; the number that `id` gives goes to another one later."""
    found = [
        f"{source}:{node.lineno}"
        for source, tree in trees_with(r"\bid\(")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "id"
    ]

    assert [] == found


def test_only_functions_of_text_are_cached() -> None:
    """Whatever else is remembered belongs to a pass, or to what it hands on."""
    functions = [(source, one) for source, tree in trees_with("cache") for one in cached(tree)]
    wrong = [
        f"{source}: {function.name}({ast.unparse(argument)})"
        for source, function in functions
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.annotation is None or ast.unparse(argument.annotation) not in TEXTS
    ]
    bare = frozenset(function.name for _, function in functions if not function.args.args)

    assert [] == wrong
    assert NO_PARAMETER == bare


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("@dataclass(frozen=True)\nclass A:\n    b: dict[str, int]", id="table"),
        pytest.param("@dataclass(frozen=True)\nclass A:\n    b: AnswerCache[str, int]", id="cache"),
    ],
)
def test_a_table_would_be_noticed(text: str) -> None:
    """The search finds what it is for."""
    assert ["A.b"] == list(tables_of(ast.parse(text)))
