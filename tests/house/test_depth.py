"""Files are few and deep: what is cut too finely stands in lists that may only become shorter."""

import ast
import sys
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import PurePosixPath
from types import FrameType

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.model.world import World
from tests import builders, stories
from tests.dialects.kubefleet import fleet
from tests.dialects.ocm import worlds
from tests.house.sources import PACKAGE, SOURCES, text_of, trees_with

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
DEEP = 150  # lines of code from which on a file may have a single user in its room
MOST_IMPORTS_PERCENT = 16
MOST_FILES = 480

SINGLE_USERS = frozenset(
    (
        "audit/previews/warn.py",
        "cli/get_part.py",
        "cli/get_watch.py",
        "dialects/karmada/crd_kinds.py",
        "dialects/karmada/object_reader.py",
        "dialects/karmada/projection.py",
        "dialects/karmada/view/cluster_references.py",
        "dialects/karmada/view/warnings.py",
        "dialects/kubefleet/object_reader.py",
        "dialects/kubefleet/projection.py",
        "dialects/kubefleet/reads.py",
        "dialects/ocm/causes.py",
        "dialects/ocm/crd_kinds.py",
        "dialects/ocm/object_reader.py",
        "dialects/ocm/projection.py",
        "dialects/ocm/reads.py",
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
        ("dialects/kubefleet", "dialects/kubefleet/rollout"),
        ("dialects/kubefleet", "dialects/kubefleet/view"),
        ("dialects/kubefleet", "dialects/kubefleet/workgenerator"),
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

PUBLIC_WITH_ONE_USER = 1294
"""Public functions and classes that a single other file uses."""

FILES_ENTERED: Mapping[str, int] = {"karmada": 29, "ocm": 13, "kubefleet": 31}
"""Files of an API that its smallest pass enters: one policy, one workload, two clusters."""


def lines_of_code(source: str, tree: ast.Module) -> frozenset[int]:
    """The lines that are neither blank nor a comment nor documentation."""
    prose: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                prose.update(range(first, last + 1))
            case _:
                pass
    written = enumerate(text_of(source).splitlines(), 1)
    return frozenset(
        number
        for number, line in written
        if number not in prose and line.strip() and not line.strip().startswith("#")
    )


@cache
def users() -> tuple[Mapping[str, frozenset[str]], Mapping[tuple[str, str], frozenset[str]]]:
    """The files that import each file, and those that import each of its names."""
    modules = {module_of(source): source for source in SOURCES}
    files: dict[str, set[str]] = defaultdict(set)
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for source, tree in trees_with(""):
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            for alias in node.names:
                whole = modules.get(f"{node.module}.{alias.name}")
                of = whole or modules.get(node.module or "")
                if of is not None and of != source:
                    files[of].add(source)
                    names[of, alias.name].add(source)
    return (
        {of: frozenset(found) for of, found in files.items()},
        {of: frozenset(found) for of, found in names.items()},
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


def test_a_part_of_one_file_stands_in_it() -> None:
    """Unless it is deep: what a single file of the room uses belongs there."""
    trees = dict(trees_with(""))
    found = {
        source
        for source, by in users()[0].items()
        if len(by) == 1
        and room_of(*by) == room_of(source)
        and not source.endswith("__init__.py")
        and len(lines_of_code(source, trees[source])) < DEEP
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
        node.name
        for source, tree in trees_with("")
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        if not node.name.startswith("_") and len(used.get((source, node.name), ())) == 1
    ]

    assert len(single) <= PUBLIC_WITH_ONE_USER


def test_a_sixth_of_the_code_is_imports_at_most() -> None:
    """A quarter was, when files had fifty lines."""
    code, imported = 0, 0
    for source, tree in trees_with(""):
        lines = lines_of_code(source, tree)
        spans = [
            range(node.lineno, (node.end_lineno or node.lineno) + 1)
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        code += len(lines)
        imported += len(lines.intersection(*[{n for span in spans for n in span}]))

    assert 100 * imported < MOST_IMPORTS_PERCENT * code


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
