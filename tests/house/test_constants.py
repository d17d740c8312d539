"""What is spelled once: an API's names in its room, and how much of a commit id is shown."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest

from reconciler.core.dialects import DIALECTS
from reconciler.model.text import SHORT_ID
from tests.house.sources import PACKAGE, SOURCES, text_of

ROOMS = PACKAGE / "dialects"
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


def constants_in(source: str) -> Iterator[str]:
    """The constants of a module that are neither numbers nor other constants, as `NAME = value`.

    Numbers mean something else in each file, whatever they are called.
    """
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if name.strip("_").isupper() and any(
            isinstance(one, ast.Constant) and isinstance(one.value, str) for one in ast.walk(value)
        ):
            yield f"{name.strip('_')} = {ast.unparse(value)}"


def repeated(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """The names that stand in several files, with those files."""
    found: dict[str, set[str]] = defaultdict(set)
    for file, source in sources.items():
        for name in (*names_in(source), *constants_in(source)):
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
        pytest.param('a = "work.karmada.io"', {"work.karmada.io": ["a", "b"]}, id="group"),
        pytest.param('x = f"example.dev/on-{y}"', {"example.dev/on-": ["a", "b"]}, id="f-string"),
        pytest.param('"""As work.karmada.io has it."""', {}, id="prose"),
        pytest.param('a = "/spec/resourceSelectors"', {}, id="path"),
        pytest.param('a = "a/b"', {}, id="short"),
        pytest.param('A = "a"', {"A = 'a'": ["a", "b"]}, id="constant"),
        pytest.param('A: Kind = (G, "A")', {"A = (G, 'A')": ["a", "b"]}, id="kind"),
        pytest.param("A = 1_000", {}, id="number"),
        pytest.param("A = B", {}, id="alias"),
    ],
)
def test_a_repeated_name_is_found(source: str, expected: Mapping[str, list[str]]) -> None:
    """The check itself can fail."""
    assert expected == repeated({"a": source, "b": source})


def shortened(source: str) -> list[str]:
    """What a file cuts to the length of a short id by itself; the digest of a text is none."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Subscript(
                value=cut, slice=ast.Slice(lower=None, upper=ast.Constant(value=end))
            ):
                if end == SHORT_ID and not isinstance(cut, ast.Call):
                    found.append(ast.unparse(node))
            case ast.Assign(value=ast.Constant(value=end), targets=[ast.Name(id="SHORT_ID")]):
                found.append(f"SHORT_ID = {end!r}")
            case _:
                pass
    return found


def test_a_commit_id_is_cut_in_one_place() -> None:
    """See `reconciler/model/text.py`."""
    found = {source: shortened(text_of(source)) for source in SOURCES}

    assert {"model/text.py": ["SHORT_ID = 12"]} == {k: v for k, v in found.items() if v}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("x = head[:12]", ["head[:12]"], id="literal"),
        pytest.param("f'{a.b[:12]}'", ["a.b[:12]"], id="f-string"),
        pytest.param("SHORT_ID = 7", ["SHORT_ID = 7"], id="constant"),
        pytest.param("x = sha.hexdigest()[:12]", [], id="digest"),
        pytest.param("x = head[:16]", [], id="other length"),
    ],
)
def test_a_cut_id_is_found(source: str, expected: list[str]) -> None:
    """The check itself can fail."""
    assert expected == shortened(source)
