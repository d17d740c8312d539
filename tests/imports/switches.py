"""The switch from a hub in a test: what is shown of it, and how each step stands."""

from collections.abc import Iterable, Mapping, Sequence

from reconciler.core.rounds import world_after
from reconciler.dialects.importer import SwitchStep
from reconciler.imports.importers import Wanted
from reconciler.imports.plan import plan_import
from reconciler.imports.switch_check import HubSeen, SwitchCheck, check_switch
from reconciler.model.body import Body
from reconciler.model.kinds import Kind
from reconciler.model.world import World
from tests.builders import NOW
from tests.imports.hubs import live, objects
from tests.imports.imported import RULES, adopt_into, import_into

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
