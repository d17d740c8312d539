"""Imports in a test: an empty repository, an export, what comes of it."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules
from reconciler.dialects.importer import Propagated
from reconciler.imports.adoption import Adoption, adopt
from reconciler.imports.importers import Wanted
from reconciler.imports.plan import (
    Absence,
    ImportPlan,
    decisions_among,
    plan_import,
    propagated_in,
    reserved_in,
    with_files,
)
from reconciler.model.body import Body
from reconciler.model.world import World
from reconciler.shell.resources import load_schemas
from tests.builders import NOW
from tests.imports.hubs import objects

RULES = Rules(load_schemas(), ADMISSIONS, KINDS)
OUTPUT_RULES = Rules(RULES.schemas, {}, KINDS, status_only=True)
EMPTY = World(revision="a" * 40, known=KINDS, inputs={}, outputs={})
ABSENCE = Absence({}, Wanted(propagated=Propagated()))
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


def propagated(bodies: Sequence[Body]) -> Wanted:
    """Return that everything of a hub is wanted that is meant for clusters, decisions, too."""
    live = {one.key: one.body for one in objects(bodies)}
    return Wanted(propagated=propagated_in(live), reserved=reserved_in(live), adopt=True)


def adopt_into(
    files: Mapping[str, str], bodies: Sequence[Body], wanted: Wanted, now: datetime = NOW
) -> Adoption:
    """Return what an export comes to that is imported and adopted."""
    plan = import_into(files, bodies, wanted)
    absence = Absence({one.key: one for one in plan.objects}, wanted)
    return adopt(plan.world, decisions_among(objects(bodies)), now, OUTPUT_RULES, absence)


def texts(plan: ImportPlan) -> dict[str, str]:
    """Return the files that an import writes."""
    return {path: data.decode() for path, data in plan.files.items()}


def fates(plan: ImportPlan) -> list[tuple[str, str]]:
    """Return the name of each object, and what becomes of it."""
    return [(one.key.name, str(one.became)) for one in plan.objects]
