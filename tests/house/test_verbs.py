"""A verb is its options, its help, and one late import of what does it."""

import ast
from pathlib import Path

import pytest

VERBS = Path(__file__).parent.parent.parent / "reconciler/cli/verbs"
SHORT = 7  # statements of a verb that does what it does by itself, its help and imports included


def is_command(node: ast.FunctionDef) -> bool:
    """Whether click makes a verb of a function."""
    return any(ast.unparse(one).startswith("click.command(") for one in node.decorator_list)


def strays(source: str) -> list[str]:
    """What a file holds beside imports, constants, and short commands."""
    found = []
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef() if is_command(node) and len(node.body) <= SHORT:
                pass
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.append(name)
            case _:
                pass
    return found


@pytest.mark.parametrize("path", sorted(VERBS.rglob("*.py")), ids=lambda path: path.stem)
def test_a_verb_is_its_options_and_one_late_import(path: Path) -> None:
    """So its help costs nothing, and what does it has its imports where a reader looks for them."""
    assert [] == strays(path.read_text(encoding="utf-8"))


COMMAND = '@click.command(name="x")\ndef command(): '


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(f"{COMMAND}return run()", [], id="verb"),
        pytest.param(f"{COMMAND}{'a; ' * SHORT}b", ["command"], id="long"),
        pytest.param("def _row(): ...", ["_row"], id="helper"),
        pytest.param("class Row: ...", ["Row"], id="class"),
        pytest.param("ORDERS = 1", [], id="constant"),
    ],
)
def test_what_is_more_than_a_verb_is_found(source: str, expected: list[str]) -> None:
    """The check itself can fail."""
    assert expected == strays(source)
