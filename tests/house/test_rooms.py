"""An API is one room, a layout is one value, and what is spelled once stands in its place."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from reconciler.core.dialects import DIALECTS
from reconciler.model.text import SHORT_ID
from reconciler.rebalance.target import REBALANCE_KINDS
from reconciler.shell.resources import load_schemas
from tests.house.sources import PACKAGE, SOURCES, text_of

ALLOWED: Mapping[str, str] = {
    "audit/findings.py": "one published list of all rules with their titles, which are prose",
    "cli/main.py": "help texts",
    "core/dialects.py": "the one file that names the dialects",
    "multicluster/placement_decision.py": "the neutral kind has the name of another one",
    "rebalance/": "implements WorkloadRebalancer and ScheduleTrigger, and what they refer to",
}
"""File or folder to the reason why it may name an API; only what needs it is listed."""

KINDS = (*REBALANCE_KINDS, *(kind for dialect in DIALECTS for kind in dialect.kinds))
NAMES = frozenset(dialect.name for dialect in DIALECTS)
GROUPS = frozenset(kind.group for kind in KINDS)
WORDS = frozenset(kind.kind for kind in KINDS if re.search(r"[a-z][A-Z]", kind.kind))
"""Kinds but for those that are plain words: Cluster, Placement, Work."""

OTHERS = [source for source in SOURCES if source.partition("/")[0] != "dialects"]


def named_in(source: str) -> Iterator[str]:
    """Each name, group and kind of an API in code; docstrings are prose, and may compare APIs."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose:
                yield from (group for group in GROUPS if group in text)
                yield from (kind for kind in WORDS if re.search(rf"\b{kind}s?\b", text))
                yield from (name for name in NAMES if re.search(rf"\b{name}\b", text.lower()))
            case ast.Name(id=word) | ast.Attribute(attr=word):
                yield from NAMES.intersection(word.lower().split("_"))
            case ast.ImportFrom(module=str(module)):
                yield from NAMES.intersection(module.split("."))
            case ast.Import(names=names):
                yield from NAMES.intersection(
                    part for name in names for part in name.name.split(".")
                )
            case _:
                pass


def is_allowed(source: str) -> bool:
    """Whether a file is in the list, or in a folder of it."""
    return any(source.startswith(entry) for entry in ALLOWED)


def test_no_api_is_named_outside_its_package() -> None:
    """What is needed of an API goes through `dialects/contract.py`."""
    others = [source for source in OTHERS if not is_allowed(source)]
    named = {source: sorted(set(named_in(text_of(source)))) for source in others}

    assert {} == {source: names for source, names in named.items() if names}


@pytest.mark.parametrize("entry", ALLOWED)
def test_every_exception_is_needed(entry: str) -> None:
    """An entry that names nothing any more goes."""
    files = [source for source in OTHERS if source.startswith(entry)]

    assert any(set(named_in(text_of(file))) for file in files)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param('x = "policy.karmada.io/v1"', ["karmada", "policy.karmada.io"], id="group"),
        pytest.param('x = "MemberCluster"', ["MemberCluster"], id="kind"),
        pytest.param("from reconciler.dialects.ocm import plan", ["ocm"], id="import"),
        pytest.param("IS_KUBEFLEET = 1", ["kubefleet"], id="name"),
        pytest.param('"""As Karmada has it."""', [], id="prose"),
        pytest.param('x = "Cluster"', [], id="word"),
    ],
)
def test_a_named_api_is_found(source: str, expected: list[str]) -> None:
    """The check itself can fail."""
    assert expected == sorted(set(named_in(source)))


@pytest.mark.parametrize("dialect", sorted(NAMES))
def test_options_are_described_in_the_room_of_their_api(dialect: str) -> None:
    """The schema of the configuration has a line for each API that has any; the rest is its own."""
    schemas = load_schemas().documents
    configuration = cast(Any, schemas["reconciler.dev/reconcilerconfiguration_v1alpha1.json"])
    own = cast(Any, schemas.get(f"definitions/{dialect}.json", {})).get("$defs", {})
    section = configuration["properties"]["spec"]["properties"].get(dialect)
    expected = None
    if "options" in own:
        reference = f"../definitions/{dialect}.json#/$defs/options"
        expected = {"description": own["options"]["description"], "$ref": reference}

    assert expected == section


LAYOUT_NAMES = frozenset(
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
            if LAYOUT_NAMES & {one.arg for one in asked}:
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
