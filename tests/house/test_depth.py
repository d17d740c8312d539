"""Files are few and deep: what is cut too finely stands in lists that may only become shorter."""

import ast
import sys
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import PurePosixPath
from types import FrameType
from typing import NamedTuple

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.model.world import World
from tests import builders, stories
from tests.dialects.kubefleet import fleet
from tests.dialects.ocm import worlds
from tests.house.sources import PACKAGE, ROOT, SOURCES, late_imports, text_of, trees_with

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
DEEP = 150  # lines of code from which on a file may have a single user in its room
MOST_IMPORTS_PERCENT = 16
MOST_FILES = 503
MOST_TEST_FILES = 376  # those of tests/, what supports them included

SINGLE_USERS = frozenset(
    (
        "cli/get_watch.py",
        "dialects/karmada/crd_kinds.py",
        "dialects/karmada/reads.py",
        "dialects/karmada/projection.py",
        "dialects/karmada/view/cluster_references.py",
        "dialects/kubefleet/projection.py",
        "dialects/ocm/crd_kinds.py",
        "dialects/ocm/projection.py",
        "manifests/text/json_text.py",
        "shell/work/fit_workers.py",
    )
)
"""Files that only one other file of their room imports. Most are loaded late, or are generated."""

PAIRS = frozenset(
    (
        ("audit", "audit/fleet"),
        ("audit", "audit/history"),
        ("audit", "audit/previews"),
        ("audit/fleet", "audit/history"),
        ("audit/fleet", "audit/previews"),
        ("cli", "cli/page"),
        ("core", "core/inputs"),
        ("dialects/karmada", "dialects/karmada/binding"),
        ("dialects/karmada", "dialects/karmada/view"),
        ("dialects/kubefleet", "dialects/kubefleet/view"),
        ("dialects/ocm", "dialects/ocm/api"),
        ("dialects/ocm", "dialects/ocm/manifestworkreplicaset"),
        ("dialects/ocm", "dialects/ocm/view"),
        ("dialects/ocm/api", "dialects/ocm/manifestworkreplicaset"),
        ("dialects/ocm/manifestworkreplicaset", "dialects/ocm/workstatus"),
        ("shell/git", "shell/git/checkout"),
        ("shell/git", "shell/processes"),
        ("shell/passes", "shell/reading"),
        ("shell/passes", "shell/work"),
        ("shell/reading", "shell/work"),
    )
)
"""Rooms that import each other: each pair is one room, or something stands in the wrong one."""

PUBLIC_WITH_ONE_USER = 1406
"""Public functions and classes that a single other file uses."""

FILES_ENTERED: Mapping[str, int] = {"karmada": 29, "ocm": 13, "kubefleet": 31}
"""Files of an API that its smallest pass enters: one policy, one workload, two clusters."""


class Read(NamedTuple):
    """What there is to know of a file.

    Attributes:
        names: Each module and name that it imports, late imports included.
        code: Lines that are neither blank nor a comment nor documentation.
        imports: Those of them that import.
        public: Functions and classes that others may use.
    """

    names: tuple[tuple[str, str], ...]
    code: int
    imports: int
    public: tuple[str, ...]


@cache
def files() -> Mapping[str, Read]:
    """Read every file once."""
    return {source: read(text_of(source), tree) for source, tree in trees_with("")}


def read(text: str, tree: ast.Module) -> Read:
    """Read one file."""
    names: list[tuple[str, str]] = []
    prose: set[int] = set()
    imported: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                prose.update(range(first, last + 1))
            case ast.Import(lineno=first, end_lineno=int(last)):
                imported.update(range(first, last + 1))
            case ast.ImportFrom(lineno=first, end_lineno=int(last)):
                imported.update(range(first, last + 1))
                names += [(node.module or "", alias.name) for alias in node.names]
            case _:
                pass
    names += late_imports(tree)
    code = {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if number not in prose and line.strip() and not line.strip().startswith("#")
    }
    public = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return Read(
        names=tuple(names),
        code=len(code),
        imports=len(code & imported),
        public=tuple(name for name in public if not name.startswith("_")),
    )


@cache
def users() -> tuple[Mapping[str, frozenset[str]], Mapping[tuple[str, str], frozenset[str]]]:
    """The files that import each file, and those that import each of its names."""
    modules = {module_of(source): source for source in SOURCES}
    by_file: dict[str, set[str]] = defaultdict(set)
    by_name: dict[tuple[str, str], set[str]] = defaultdict(set)
    for source, told in files().items():
        for module, name in told.names:
            of = modules.get(f"{module}.{name}") or modules.get(module)
            if of is not None and of != source:
                by_file[of].add(source)
                by_name[of, name].add(source)
    return (
        {of: frozenset(found) for of, found in by_file.items()},
        {of: frozenset(found) for of, found in by_name.items()},
    )


def module_of(source: str) -> str:
    """The dotted name of a file."""
    inner = source.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return "reconciler" if inner == "__init__" else f"reconciler.{inner}"


def room_of(source: str) -> str:
    """The folder of a file, `""` for the package itself."""
    return "" if "/" not in source else PurePosixPath(source).parent.as_posix()


def test_there_are_few_files() -> None:
    """A reader keeps the map in mind."""
    assert len(SOURCES) <= MOST_FILES


def test_there_are_few_files_of_tests() -> None:
    """The tests of one subject stand in one file, where the subject stands in the package."""
    assert len(list((ROOT / "tests").rglob("*.py"))) <= MOST_TEST_FILES


def test_a_part_of_one_file_stands_in_it() -> None:
    """Unless it is deep: what a single file of the room uses belongs there."""
    found = {
        source
        for source, by in users()[0].items()
        if len(by) == 1
        and room_of(*by) == room_of(source)
        and not source.endswith("__init__.py")
        and files()[source].code < DEEP
    }

    assert found == SINGLE_USERS


def test_rooms_do_not_import_each_other() -> None:
    """Rooms are layers, too."""
    leads = {
        (room_of(source), room_of(of))
        for of, by in users()[0].items()
        for source in by
        if room_of(source) and room_of(of)
    }

    assert PAIRS == {(one, two) for one, two in leads if one < two and (two, one) in leads}


def test_public_names_have_users() -> None:
    """A name that one file uses is part of that file's subject, more often than not."""
    used = users()[1]
    single = [
        name
        for source, told in files().items()
        for name in told.public
        if len(used.get((source, name), ())) == 1
    ]

    assert len(single) <= PUBLIC_WITH_ONE_USER


def test_a_sixth_of_the_code_is_imports_at_most() -> None:
    """A fifth was, when files had fifty lines."""
    code = sum(told.code for told in files().values())

    assert 100 * sum(told.imports for told in files().values()) < MOST_IMPORTS_PERCENT * code


def smallest(api: str) -> World:
    """The smallest world in which an API decides something."""
    if api == "karmada":
        return stories.world(
            builders.cluster("member1"),
            builders.cluster("member2"),
            builders.policy(),
            builders.deployment(),
        )
    if api == "ocm":
        return worlds.world(
            [
                worlds.cluster_set(),
                worlds.binding(),
                worlds.placement(numberOfClusters=1),
                worlds.cluster("a"),
                worlds.cluster("b"),
            ]
        )
    return stories.world(fleet.placement(), fleet.member("member1"), builders.deployment())


@pytest.mark.parametrize("api", FILES_ENTERED)
def test_the_smallest_pass_enters_few_files(api: str) -> None:
    """Whoever follows it has so many files open."""
    room = str(PACKAGE / "dialects" / api)
    entered: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(room) and "<" not in code.co_name:
            entered.add(code.co_filename)

    world = smallest(api)
    assert reconcile(world, NOW).changes  # and everything is loaded
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        reconcile(world, NOW)
    finally:
        sys.setprofile(before)

    assert len(entered) <= FILES_ENTERED[api]
