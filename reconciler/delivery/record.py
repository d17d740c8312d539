"""What is delivered, as `delivery.yaml` of the outputs says it: by what, and where to."""

from collections.abc import Iterable, Mapping

from reconciler.delivery.settings import Destination
from reconciler.manifests.paths import DELIVERY
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest


def recorded(outputs: Mapping[ObjectKey, Manifest]) -> tuple[Destination, ...]:
    """Return where earlier passes delivered to, sorted."""
    output = outputs.get(DELIVERY)
    if output is None:
        return ()
    return destinations_in(output.body)


def destinations_in(record: Body) -> tuple[Destination, ...]:
    """Return where a record says that is delivered to, sorted."""
    written = bodies(mapping(record, "status"), "destinations")
    return tuple(sorted(Destination(text(one, "transport"), text(one, "path")) for one in written))


def delivery_body(destinations: Iterable[Destination]) -> Body:
    """Return the record of where is delivered to."""
    return {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": DELIVERY.kind,
        "metadata": {"name": DELIVERY.name},
        "status": {
            "destinations": [
                {"transport": one.transport, "path": one.path} for one in sorted(destinations)
            ]
        },
    }
