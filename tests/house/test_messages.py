"""No message has the words of another library's exception: they hold what it was working on."""

import ast
import sys
from collections.abc import Iterator

from tests.house.sources import PACKAGE, trees_with

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
