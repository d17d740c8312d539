"""Names mean one thing, messages are our own, and caches say that they remember."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house.sources import PACKAGE, SOURCES, trees_with

ROLES = {
    "Binding": "where one thing is placed, by its API's own object",
    "Draft": "an object as a person wants it, beside what was decided",
    "Members": "the clusters of an API, indexed",
    "Placement": "where something wants to be, decoded",
    "Policy": "what a person asks of placing",
    "Request": "the question that filters and scores are asked",
    "SpreadConstraint": "how evenly clusters are to be picked",
    "Surroundings": "what all objects of one round share",
    "ToleratedTaint": "what would have a taint tolerated",
}
"""Names that dialects share since they play the same part in each, and nothing else does."""

FOREIGN = re.compile(
    r"(?:^|_)(?:claims|elections|settle|stages|witness|tell|happenings|chronicle|sweep|intake|"
    r"survey|shelf|sides|people|holding|cutting|notes|utils|helpers|common|misc|base)(?:$|_)"
)
"""Words that are no names of files; the field has better ones."""


@cache
def classes() -> dict[str, list[str]]:
    """Each public class with the files that define one of that name."""
    found: dict[str, list[str]] = defaultdict(list)
    for source, tree in trees_with(r"\bclass "):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(source)
    return found


def test_a_class_name_means_one_thing() -> None:
    """But for the parts that are the same in each API."""
    twice = {name: paths for name, paths in classes().items() if len(paths) > 1}

    assert {} == {name: paths for name, paths in twice.items() if name not in ROLES}
    for name, paths in twice.items():
        apis = [path.split("/")[1] for path in paths if path.startswith("dialects/")]
        assert len(set(apis)) == len(paths), f"{name}: {paths}"


def test_every_role_is_played() -> None:
    """A name that is shared no more leaves the list."""
    assert set(ROLES) <= {name for name, paths in classes().items() if len(paths) > 1}


def test_a_file_has_a_name_that_the_field_knows() -> None:
    """See the list above for what it is not."""
    assert [] == [source for source in SOURCES if FOREIGN.search(Path(source).stem)]


OF_ITS_OWN = frozenset({"click"})  # its words are those of options, which we wrote
NAMED = frozenset({"csv", "json", "sqlite3"})  # of Python's, and holding text all the same
TOLD = ("str", "repr", "format")


def foreign(tree: ast.AST) -> dict[str, str]:
    """By each name of a module, that what it is imported from is another library."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(one.asname or one.name).partition(".")[0]: one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {one.asname or one.name: node.module for one in node.names}
    ours = {PACKAGE.name, "builtins"} | (sys.stdlib_module_names - NAMED) | OF_ITS_OWN
    return {name: module for name, module in found.items() if module.partition(".")[0] not in ours}


def caught(handler: ast.ExceptHandler) -> Iterator[str]:
    """The first name of each class that is caught."""
    if handler.type is None:
        return
    several = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    for one in several:
        while isinstance(one, ast.Attribute):
            one = one.value  # noqa: PLW2901  # down to the module
        if isinstance(one, ast.Name):
            yield one.id


def told(handler: ast.ExceptHandler) -> Iterator[int]:
    """The lines that put the exception itself into a text."""
    for node in ast.walk(handler):
        match node:
            case ast.FormattedValue(value=ast.Name(id=name)) if name == handler.name:
                yield node.lineno
            case ast.Call(func=ast.Name(id=function), args=[ast.Name(id=name)]) if (
                function in TOLD and name == handler.name
            ):
                yield node.lineno


def test_no_exception_of_a_library_is_told() -> None:
    """Each place says in its own words what is wrong, and where."""
    found = []
    for path, tree in trees_with("except"):
        names = foreign(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and names.keys() & set(caught(node)):
                found += [f"{path}:{line}" for line in told(node)]

    assert [] == found


TABLES = frozenset(
    ("AnswerCache", "KeyedCache", "bytearray", "defaultdict", "deque", "dict", "list", "set")
)
TEXTS = frozenset(
    (
        "LabelSelector",
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

NO_PARAMETER = frozenset(("_trim", "environment", "languages", "load_schemas", "package_digest"))
"""Cached since they read what is part of this build or machine, once and late."""


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
