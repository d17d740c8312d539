"""What remembers says so: no frozen value hides a table, and no key is an address."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent.parent / "reconciler"
SOURCES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
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


def tree_of(source: str) -> ast.Module:
    """The tree of one file."""
    return ast.parse((PACKAGE / source).read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("source", SOURCES)
def test_a_frozen_value_holds_no_table(source: str) -> None:
    """What is filled after it was made is no value, so it is not called frozen."""
    assert [] == list(tables_of(tree_of(source)))


@pytest.mark.parametrize("source", SOURCES)
def test_no_address_is_a_key(source: str) -> None:
    """`Same` holds its object; the number that `id` gives goes to another one later."""
    calls = [node for node in ast.walk(tree_of(source)) if isinstance(node, ast.Call)]

    assert [] == [node.lineno for node in calls if ast.unparse(node.func) == "id"]


@pytest.mark.parametrize("source", SOURCES)
def test_only_functions_of_text_are_cached(source: str) -> None:
    """Whatever else is remembered belongs to a pass, or to what it hands on."""
    wrong = [
        f"{function.name}({ast.unparse(argument)})"
        for function in cached(tree_of(source))
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.annotation is None or ast.unparse(argument.annotation) not in TEXTS
    ]
    bare = [item.name for item in cached(tree_of(source)) if not item.args.args]

    assert ([], []) == (wrong, [name for name in bare if name not in NO_PARAMETER])


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
