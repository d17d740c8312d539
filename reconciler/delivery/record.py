"""What is delivered, as `delivery.yaml` of the outputs says it: by what, where to, what outlives.

Decisions whose objects are to outlive them are named while they stand, since nothing tells of that
once they are gone; files that stay for that are named until they may go.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reconciler.delivery.settings import Destination
from reconciler.manifests.paths import DELIVERY
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest

IDENTITY = ("group", "kind", "namespace", "name")


class OutlivingFile(NamedTuple):
    """A file that stays though no decision wants it, with the object that a cluster reports."""

    path: str
    source: ObjectKey


class Outliving(NamedTuple):
    """The decisions whose files stay once they are gone, and the files that stay by now, sorted."""

    owners: tuple[ObjectKey, ...] = ()
    files: tuple[OutlivingFile, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.owners or self.files)


NOTHING_OUTLIVES = Outliving()


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


def outliving_in(record: Body | None) -> Outliving:
    """Return what a record says of what outlives decisions."""
    found = mapping(mapping(record or {}, "status"), "outliving")
    return Outliving(
        tuple(sorted(_key(one) for one in bodies(found, "owners"))),
        tuple(
            sorted(
                OutlivingFile(text(one, "path"), _key(one)._replace(reporter=text(one, "cluster")))
                for one in bodies(found, "files")
            )
        ),
    )


def delivery_body(
    destinations: Iterable[Destination], outliving: Outliving = NOTHING_OUTLIVES
) -> Body:
    """Return the record of where is delivered to, and of what outlives decisions."""
    status: dict[str, object] = {
        "destinations": [
            {"transport": one.transport, "path": one.path} for one in sorted(destinations)
        ]
    }
    if outliving:
        status["outliving"] = {
            "owners": [_named(key) for key in outliving.owners],
            "files": [
                {"path": one.path, "cluster": one.source.reporter, **_named(one.source)}
                for one in outliving.files
            ],
        }
    return {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": DELIVERY.kind,
        "metadata": {"name": DELIVERY.name},
        "status": status,
    }


def _named(key: ObjectKey) -> Body:
    return {name: getattr(key, name) for name in IDENTITY if getattr(key, name)}


def _key(body: Body) -> ObjectKey:
    return ObjectKey(*(text(body, name) for name in IDENTITY))
