"""A toy: what is taken over of a live harbor: sites and berths, and where the berths are."""

from collections.abc import Mapping
from datetime import datetime

from reconciler.dialects.importer import Adopted, ImportedKind, Importer
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from tests.toys.dialect.dialect import BERTH, GROUP, SITE


def _adopt(world: World, live: Mapping[ObjectKey, Body], now: datetime) -> Adopted:
    """Return the state of the live berths that are in the repository."""
    berths = {key: body for key, body in live.items() if key[:2] == BERTH}
    left = {key: "it has no file" for key in berths if key not in world.inputs}
    outputs = {
        key: _state(world.inputs[key].body, key, body, now)
        for key, body in berths.items()
        if key not in left
    }
    return Adopted(outputs=outputs, left=left)


def _state(berth: Body, key: ObjectKey, live: Body, now: datetime) -> Body:
    """Return the status file of a berth as a pass would have left it."""
    _, metadata = admit(key, mapping(berth, "spec"), None, now)
    kind = {field: berth[field] for field in ("apiVersion", "kind")}
    return {**kind, "metadata": metadata, "status": mapping(live, "status")}


IMPORTER = Importer(
    kinds={
        SITE: ImportedKind(folder="sites", dropped=("spec.pilot",)),
        BERTH: ImportedKind(folder="berths"),
    },
    server_made=(f"{GROUP}/",),
    adopt=_adopt,
    live=(BERTH,),
)
