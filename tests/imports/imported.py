"""Imports in a test: an empty repository, an export, what comes of it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules
from reconciler.core.rounds import world_after
from reconciler.dialects.importer import Propagated, SwitchStep
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
from reconciler.imports.switch_check import HubSeen, SwitchCheck, check_switch
from reconciler.model.body import Body
from reconciler.model.kinds import Kind
from reconciler.model.world import World
from reconciler.shell.resources import load_schemas
from tests.builders import NOW
from tests.imports.hubs import live, objects

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


WANTED = Wanted(workloads=frozenset({"deployments"}), adopt=True)
DELIVERING = "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"
DELIVERING += "metadata: {{name: fleet}}\nspec: {{delivery: {}}}\n"
FOLDERS = DELIVERING.format("{folders: {}}")
WORKS = DELIVERING.format("{works: {hubsWithoutControllers: true}}")
MANIFEST_WORKS = DELIVERING.format("{manifestworks: {}}")


def deployment(place: str, replicas: int | None, *args: str, left: int = 0) -> Body:
    """Return a Deployment `namespace/name` that wants so many replicas, and has so many left."""
    namespace, name = place.split("/")
    containers = [{"name": "main", "image": "example/main:1", "command": ["main", *args]}]
    wanted = {} if replicas is None else {"replicas": replicas}
    return live(
        "apps/v1",
        "Deployment",
        name,
        namespace=namespace,
        spec={**wanted, "template": {"spec": {"containers": containers}}},
        status={"replicas": left},
    )


def adopted(export: Sequence[Body], configuration: str = "", *, wanted: Wanted = WANTED) -> World:
    """Return a repository with a hub imported and adopted."""
    files = {"reconciler.yaml": configuration} if configuration else {}
    world = import_into(files, export, wanted).world
    adoption = adopt_into(files, export, wanted)
    return world_after(world, adoption.outputs, (), ())


def check(
    world: World,
    export: Sequence[Body],
    *,
    host: Sequence[Body] | None = None,
    whole: bool = False,
    listed: Iterable[Kind] = (),
    workloads: frozenset[str] = WANTED.workloads,
) -> SwitchCheck:
    """Return how the switch from a hub of one API stands.

    Args:
        world: The repository.
        export: What is shown of the hub.
        host: The Deployments of the cluster that runs it, `None` if they are not shown.
        whole: Whether the export has every Deployment.
        listed: Kinds of which it has everything.
        workloads: The types that are imported.
    """
    wanted = Wanted(workloads=workloads, adopt=True, listed=frozenset(listed))
    plan = plan_import(world, lambda _: b"", objects(export), wanted, RULES)
    seen = HubSeen(live=objects(export), host=None if host is None else objects(host), whole=whole)
    (found,) = check_switch(world, plan, seen, wanted, NOW)
    return found


def step(found: SwitchCheck, name: str) -> SwitchStep:
    """Return a step by its name."""
    return next(one for one in found.steps if one.name == name)


def states(found: SwitchCheck) -> Mapping[str, str]:
    """Return the state of each step, in order."""
    return {one.name: str(one.state) for one in found.steps}


def names(one: SwitchStep) -> list[str]:
    """Return the names of what a step is open for."""
    return [key.name for key in one.objects]


def with_spec(body: Body, **fields: object) -> Body:
    """Return an object with fields of its spec set."""
    spec = body.get("spec", {})
    assert isinstance(spec, Mapping)
    return {**body, "spec": {**spec, **fields}}
