"""What an API calls its groups, labels and annotations is spelled once in its room."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from reconciler.core.dialects import DIALECTS

ROOMS = Path(__file__).parent.parent.parent / "reconciler/dialects"
GENERATED = "crd_kinds.py"  # written by `make schemas`, whose table is upstream's
SHORTEST = 12


def names_in(source: str) -> Iterator[str]:
    """The longer names of an API in a file, whole or as parts of f-strings; docstrings are prose.

    A path into an object, such as `/spec/policy`, is no name of an API: it says where a rule of
    that file looks, so it is read there best.
    """
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose and len(text) >= SHORTEST:
                if not text.startswith("/") and ("/" in text or ".io" in text):
                    yield text
            case _:
                pass


def repeated(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """The names that stand in several files, with those files."""
    found: dict[str, set[str]] = defaultdict(set)
    for file, source in sources.items():
        for name in names_in(source):
            found[name].add(file)
    return {name: sorted(files) for name, files in found.items() if len(files) > 1}


@pytest.mark.parametrize("dialect", [dialect.name for dialect in DIALECTS])
def test_a_name_of_an_api_is_spelled_once(dialect: str) -> None:
    """It is a constant in `api/`, which the other files import."""
    room = ROOMS / dialect
    sources = {
        path.relative_to(room).as_posix(): path.read_text(encoding="utf-8")
        for path in room.rglob("*.py")
        if path.name != GENERATED
    }

    assert {} == repeated(sources)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param('A = "work.karmada.io"', {"work.karmada.io": ["a", "b"]}, id="group"),
        pytest.param('x = f"example.dev/on-{y}"', {"example.dev/on-": ["a", "b"]}, id="f-string"),
        pytest.param('"""As work.karmada.io has it."""', {}, id="prose"),
        pytest.param('A = "/spec/resourceSelectors"', {}, id="path"),
        pytest.param('A = "a/b"', {}, id="short"),
    ],
)
def test_a_repeated_name_is_found(source: str, expected: Mapping[str, list[str]]) -> None:
    """The check itself can fail."""
    assert expected == repeated({"a": source, "b": source})
