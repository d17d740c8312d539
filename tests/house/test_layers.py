"""The list of layers in CONTRIBUTING.md, checked: a package imports only itself and those above."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.sources import PACKAGE, ROOT, SOURCES, late_imports, text_of, trees_with

MOST_LINES = 800


def layers() -> list[str]:
    """The layer list as CONTRIBUTING.md gives it, top to bottom."""
    block = re.search(
        r"<!-- layers -->\n```\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL
    )
    assert block is not None, (
        "CONTRIBUTING.md lists the layers between <!-- layers --> and a code fence"
    )
    return [line.split()[0].rstrip("/").removesuffix(".py") for line in block[1].splitlines()]


def layer_of(module: str) -> str:
    """The layer that a dotted module name belongs to, `""` for the package itself."""
    _, _, rest = module.partition(".")
    return rest.split(".")[0]


@cache
def imports() -> Mapping[str, tuple[str, ...]]:
    """Each file with every module of this project that it imports, late imports included."""
    return {source: tuple(imports_in(tree)) for source, tree in trees_with("")}


def imports_in(tree: ast.Module, *, late: bool = True) -> Iterator[str]:
    """Every module of this project that is imported, late imports and those of types included."""
    for node in ast.walk(tree) if late else tree.body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "reconciler")
    if late:
        yield from map(".".join, late_imports(tree))


SHARED = frozenset(
    path.stem for path in (PACKAGE / "dialects").iterdir() if not (path / "dialect.py").is_file()
)
"""What stands beside the dialects is for all of them."""


def violations(source: str, imported: Iterable[str], order: list[str]) -> list[str]:
    """The imports of one file that point downwards, or across two dialects."""
    parts = source.removesuffix(".py").split("/")
    own = parts[0]
    if own == "__init__":
        return []
    wrong = []
    for module in imported:
        layer = layer_of(module)
        if layer in order and order.index(layer) > order.index(own):
            wrong.append(module)
        names = module.split(".")
        if own == "dialects" == layer and len(parts) > 2 and names[2] not in (parts[1], *SHARED):
            wrong.append(module)
    return wrong


def test_a_file_imports_only_its_own_layer_and_those_above() -> None:
    """A wrong import fails here with its name."""
    order = layers()
    found = {source: violations(source, names, order) for source, names in imports().items()}

    assert {} == {source: wrong for source, wrong in found.items() if wrong}


def test_every_package_is_a_layer() -> None:
    """The list and the folders are the same set."""
    found = {source.split("/")[0].removesuffix(".py") for source in SOURCES} - {"__init__"}

    assert found == set(layers())


@pytest.mark.parametrize(
    ("source", "module"),
    [
        pytest.param("model/world.py", "reconciler.shell.resources", id="core-imports-shell"),
        pytest.param("core/reconcile.py", "reconciler.cli.main", id="core-imports-cli"),
        pytest.param(
            "dialects/karmada/plan.py", "reconciler.dialects.ocm.plan", id="dialect-imports-dialect"
        ),
    ],
)
def test_a_wrong_import_is_found(source: str, module: str) -> None:
    """The check itself can fail."""
    assert [module] == violations(source, [module], layers())


def circles(imported: Mapping[str, Iterable[str]]) -> list[str]:
    """The modules of the first circle that there is, none if there is none."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_files_import_each_other_in_a_circle() -> None:
    """What Python imports as it loads a file; a late import of the same room may lead back."""
    modules = {
        "reconciler." + source.removesuffix(".py").removesuffix("/__init__").replace("/", "."): (
            frozenset(imports_in(tree, late=False))
        )
        for source, tree in trees_with("")
    }

    found = {
        module: {
            name if name in modules else name.rpartition(".")[0]
            for name in names
            if name in modules or name.rpartition(".")[0] in modules
        }
        - {module}
        for module, names in modules.items()
    }
    assert [] == circles(found)


def test_a_circle_is_found_however_long_it_is() -> None:
    """The check itself can fail."""
    assert {"a", "b", "c"} == set(circles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}))


def test_a_file_has_eight_hundred_lines_at_most() -> None:
    """A file is a whole subject; one that is longer hides a second one."""
    lengths = {source: len(text_of(source).splitlines()) for source in SOURCES}

    assert {} == {source: lines for source, lines in lengths.items() if lines > MOST_LINES}


def test_no_verb_is_imported() -> None:
    """What two verbs share, or the page needs, stands in a room beside them."""
    found = [
        (source, name)
        for source, names in imports().items()
        for name in names
        if name.startswith("reconciler.cli.verbs.")
    ]
    assert [] == found


def test_of_gitpython_only_the_runner_is_used() -> None:
    """One import in one file, which says why it is not more."""
    found = []
    for source, tree in trees_with(r"\bgit\b"):
        for node in ast.walk(tree):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(name.partition(".")[0] == "git" for name in (module, *names)):
                found.append((source, ast.unparse(node)))

    assert [("shell/git/command.py", "from git.cmd import Git as Runner")] == found
