"""What is borrowed of other packages beside what they promise: listed, bounded, and as it was.

A package may change what it does not promise in any release. So each such name is listed here, its
package has an upper bound in pyproject.toml, and a test uses it as the product does.
"""

import ast
import importlib
import sys
import threading
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from watchfiles._rust_notify import RustNotify
from yaml import CBaseLoader, events
from yaml.error import YAMLError

from tests.house.sources import ROOT, SOURCES, text_of

DOCUMENTED = frozenset({"_asdict", "_fields", "_make", "_replace", "_exit"})
"""They are public: the underscore keeps four of them apart from the names of fields, and `os._exit`
from the exit that tidies up."""

UPGRADE = (
    "The installed release of {package} changed {name}, which it never promised. Lower the bound "
    "in pyproject.toml below that release, run `make lock`, then mend {users}, run their tests and "
    "`python -m benchmarks`, and raise the bound again."
)


class Borrowed(NamedTuple):
    """A name, the packages that may change it, and the files that use it."""

    packages: tuple[str, ...]
    users: tuple[str, ...]


BORROWED = {
    # Of Python's own pool of processes; tests/shell/work/test_executors.py kills one in an answer.
    "_result_queue": Borrowed((), ("shell/work/executors.py",)),
    "watchfiles._rust_notify.RustNotify": Borrowed(("watchfiles",), ("shell/daemon/watch.py",)),
}
"""Private, or in a public module without being in its `__all__`; found by the tests below."""


def advice(name: str) -> str:
    """What to do when an upgrade changed a name."""
    packages, users = BORROWED[name]
    return UPGRADE.format(package=" or ".join(packages), name=name, users=" and ".join(users))


def is_private(name: str) -> bool:
    """Whether a name is one that its owner keeps to itself."""
    return name.startswith("_") and not name.endswith("__") and name not in DOCUMENTED


def nodes_of(source: str) -> list[ast.AST]:
    """All that a file says."""
    return list(ast.walk(ast.parse(source)))


def borrowed_in(nodes: list[ast.AST]) -> Iterator[str]:
    """The private names of other packages that a file uses, by import or as an attribute.

    Imports for types only are no use of anything. An attribute is another package's if neither the
    file itself nor another of ours gives that name to anything; of the others whoever asks knows.
    """
    typing = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    own = set(names_given(nodes))
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module), names=aliases) if id(node) not in typing:
                if module.split(".")[0] != "reconciler":
                    names = [f"{module}.{alias.name}" for alias in aliases]
                    yield from (name for name in names if any(map(is_private, name.split("."))))
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
                yield from (name for name in names if any(map(is_private, name.split("."))))
            case ast.Attribute(attr=name) if is_private(name) and name not in own:
                yield name
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                yield from [name] if is_private(name) and name not in own else []
            case _:
                pass


def names_given(nodes: list[ast.AST]) -> Iterator[str]:
    """Every name that a file gives to something, as a field, a variable, a function or a class."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case _:
                pass


def unlisted_in(nodes: list[ast.AST]) -> Iterator[str]:
    """What a file imports of a public module that lists what it promises, and does not list it."""
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module), names=aliases):
                parts = module.split(".")
                known = parts[0] in {"reconciler", *sys.stdlib_module_names}
                if not known and not any(map(is_private, parts)):
                    imported = importlib.import_module(module)
                    listed = getattr(imported, "__all__", [alias.name for alias in aliases])
                    found = {alias.name for alias in aliases}.difference(listed)
                    yield from (f"{module}.{name}" for name in sorted(found))
            case _:
                pass


@pytest.mark.cpu_seconds(30)  # every file, and all that it imports
def test_what_is_borrowed_is_listed() -> None:
    """A new one gives way to what is promised, or comes here with a bound and a test."""
    given: set[str] = set()
    found: set[tuple[str, str]] = set()
    for source in SOURCES:
        nodes = nodes_of(text_of(source))
        given.update(names_given(nodes))
        found.update((name, source) for name in (*borrowed_in(nodes), *unlisted_in(nodes)))
    found = {(name, source) for name, source in found if name not in given}

    assert {(name, user) for name, one in BORROWED.items() for user in one.users} == found


@pytest.mark.parametrize("name", BORROWED)
def test_packages_that_lend_are_bounded(name: str) -> None:
    """No release is installed that nobody has tried; the lock names one that is allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {canonicalize_name(one.name): one for one in map(Requirement, project["dependencies"])}
    for package in BORROWED[name].packages:
        bounds = asked[canonicalize_name(package)].specifier

        assert any(bound.operator == "<" for bound in bounds), package
        assert version(package) in bounds, package


def test_the_parser_in_c_is_of_a_libyaml_that_reads_valid_yaml() -> None:
    """Since 0.2.1 a colon may stand in plain text within brackets; 0.2.5 mended what followed."""
    loaded = tuple(map(int, importlib.import_module("yaml._yaml").get_version_string().split(".")))

    assert loaded >= (0, 2, 5), "take a wheel of PyYAML, or build it with a newer libyaml"


def test_the_parser_in_c_reads_bytes_event_by_event() -> None:
    """The classes are those that it exports, each with its marks; tags and anchors are told."""
    parser = CBaseLoader(b"a: &x [1, *x]\n")
    found: list[Any] = []
    while not found or type(found[-1]) is not events.StreamEndEvent:
        found.append(parser.get_event())

    expected = [
        events.StreamStartEvent,
        events.DocumentStartEvent,
        events.MappingStartEvent,
        events.ScalarEvent,
        events.SequenceStartEvent,
        events.ScalarEvent,
        events.AliasEvent,
        events.SequenceEndEvent,
        events.MappingEndEvent,
        events.DocumentEndEvent,
        events.StreamEndEvent,
    ]
    assert expected == [type(event) for event in found]
    assert (0, 7, "1") == (
        *(getattr(found[5].start_mark, place) for place in ("line", "column")),
        found[5].value,
    )
    assert ("x", "x") == (found[4].anchor, found[6].anchor)


def test_the_parser_in_c_says_what_is_wrong_and_where() -> None:
    """Our messages begin with its words."""
    parser = CBaseLoader(b"a: b: c\n")
    with pytest.raises(YAMLError) as raised:
        list(iter(parser.get_event, None))

    problem, mark = (getattr(raised.value, part) for part in ("problem", "problem_mark"))
    expected = ("mapping values are not allowed in this context", 0, 4)
    assert expected == (problem, mark.line, mark.column)


def test_the_watcher_in_rust_watches_from_the_moment_it_is_made(tmp_path: Path) -> None:
    """A change before the first look is in the first answer; a stop ends it with a word."""
    name = "watchfiles._rust_notify.RustNotify"
    stopped = threading.Event()
    with RustNotify(
        [str(tmp_path)],
        debug=False,
        force_polling=False,
        poll_delay_ms=0,
        recursive=False,
        ignore_permission_denied=False,
    ) as notify:
        (tmp_path / "HEAD").touch()
        batch = notify.watch(50, 10, 30_000, None)
        stopped.set()
        last = notify.watch(50, 10, 30_000, stopped)

    assert not isinstance(batch, str), advice(name)
    assert {str(tmp_path / "HEAD")} == {path for _, path in batch}, advice(name)
    assert "stop" == last, advice(name)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("from click._compat import x", ["click._compat.x"], id="module"),
        pytest.param("from git import _x", ["git._x"], id="name"),
        pytest.param("import _cffi_backend", ["_cffi_backend"], id="import"),
        pytest.param("repository.git._persistent", ["_persistent"], id="attribute"),
        pytest.param('getattr(git, "_persistent")', ["_persistent"], id="by-its-name"),
        pytest.param("class A:\n  def _f(self):\n    self._f()", [], id="our-own"),
        pytest.param("pair._replace(a=1)", [], id="named-tuple"),
        pytest.param("if TYPE_CHECKING:\n  from _typeshed import A", [], id="types"),
    ],
)
def test_a_borrowed_name_is_found(source: str, expected: list[str]) -> None:
    """The check itself can fail."""
    assert expected == list(borrowed_in(nodes_of(source)))
