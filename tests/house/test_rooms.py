"""An API is one room: its name, groups and kinds stand in its package and nowhere else."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from reconciler.core.dialects import DIALECTS
from reconciler.rebalance.target import REBALANCE_KINDS
from reconciler.shell.resources import load_schemas
from tests.house.sources import SOURCES, text_of

ALLOWED: Mapping[str, str] = {
    "audit/findings.py": "one published list of all rules with their titles, which are prose",
    "cli/main.py": "help texts",
    "core/dialects.py": "the one file that names the dialects",
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
