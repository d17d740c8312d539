"""Imports in a test: an empty repository, an export, what comes of it."""

from collections.abc import Mapping, Sequence

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.document_rules import Rules
from reconciler.imports.files import with_files
from reconciler.imports.plan import ImportPlan, Wanted, plan_import
from reconciler.model.body import Body
from reconciler.model.world import World
from reconciler.shell.resources import load_schemas
from tests.imports.hubs import objects

RULES = Rules(load_schemas(), ADMISSIONS, KINDS)
OUTPUT_RULES = Rules(RULES.schemas, {}, KINDS, status_only=True)
EMPTY = World(revision="a" * 40, known=KINDS, inputs={}, outputs={})
DEPLOYMENTS = Wanted(workloads=frozenset({"deployments"}))


def world_of(files: Mapping[str, str]) -> World:
    """Return the world of a repository with some files."""
    return with_files(EMPTY, {path: text.encode() for path, text in files.items()}, RULES)


def import_into(
    files: Mapping[str, str], bodies: Sequence[Body], wanted: Wanted = DEPLOYMENTS
) -> ImportPlan:
    """Return what an export comes to in a repository with some files."""

    def content(path: str) -> bytes:
        return files[path].encode()

    return plan_import(world_of(files), content, objects(bodies), wanted, RULES)


def texts(plan: ImportPlan) -> dict[str, str]:
    """Return the files that an import writes."""
    return {path: data.decode() for path, data in plan.files.items()}


def fates(plan: ImportPlan) -> list[tuple[str, str]]:
    """Return the name of each object, and what becomes of it."""
    return [(one.key.name, str(one.became)) for one in plan.objects]
