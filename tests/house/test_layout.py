"""Where the outputs of a fleet are is said by one value: not by loose parameters, nor by click."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.sources import PACKAGE, SOURCES, text_of

NAMES = frozenset(
    {
        *(f"{what}_root" for what in ("output", "outputs")),
        *(f"{what}_branch" for what in ("output", "outputs", "input", "inputs", "report")),
        *(f"{what}_branch" for what in ("reports", "delivery")),
    }
)
"""What `RepositoryLayout` and `ServedBranches` say."""

EDGES = frozenset({"library/fleet.py: open_repository", "library/folder.py: read_folder"})
"""What programs call, and what makes the value of what they say; the options are click's."""


def loose(source: str) -> Iterator[str]:
    """The functions that take a part of the value by itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            asked = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            if NAMES & {one.arg for one in asked}:
                yield getattr(node, "name", "lambda")


def ambient(source: str) -> bool:
    """Whether a file keeps anything in what click hands from context to context."""
    nodes = ast.walk(ast.parse(source))
    return any(isinstance(node, ast.Attribute) and node.attr == "meta" for node in nodes)


def test_no_function_takes_a_part_of_the_layout_by_itself() -> None:
    """It takes a `RepositoryLayout`, or asks a value that has one."""
    found = {f"{source}: {name}" for source in SOURCES for name in loose(text_of(source))}

    assert found == EDGES


@pytest.mark.parametrize("path", sorted((PACKAGE / "cli").rglob("*.py")), ids=lambda one: one.stem)
def test_no_option_is_ambient(path: Path) -> None:
    """What a verb needs it gets as a parameter."""
    assert not ambient(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("def read(output_root): ...", ["read"], id="function"),
        pytest.param(
            "class A:\n  async def b(self, *, output_branch=None): ...", ["b"], id="async"
        ),
        pytest.param("f = lambda output_root, /: 1", ["lambda"], id="lambda"),
        pytest.param("class A:\n  output_root: str", [], id="field"),
        pytest.param("def read(layout): return layout.output_root", [], id="layout"),
    ],
)
def test_a_loose_parameter_is_found(source: str, expected: list[str]) -> None:
    """The check itself can fail."""
    assert expected == list(loose(source))


def test_an_ambient_option_is_found() -> None:
    """The check itself can fail."""
    assert ambient('context.meta["x"] = 1')
    assert not ambient("context.obj")
