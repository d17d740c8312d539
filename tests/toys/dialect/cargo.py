"""A toy: what a berth puts onto its sites: its cargo, which is one object of its namespace."""

from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.dialects.renderer import ClusterWork, NotRendered, Reach, Rendered
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.settings import Settings
from reconciler.model.world import World
from tests.toys.dialect.berth import on
from tests.toys.dialect.dialect import BERTH, SITE, VERSION


@dataclass(frozen=True, slots=True)
class Cargoes:
    """The cargoes of the berths of a world."""

    world: World

    def owners(self) -> list[ObjectKey]:
        """Return the berths that were decided, sorted."""
        return sorted(key for key in self.world.outputs if key[:2] == BERTH)

    def clusters(self) -> tuple[ClusterName, ...]:
        """Return the sites, sorted."""
        return tuple(sorted(ClusterName(site.key.name) for site in self.world.of_kind(*SITE)))

    def render(self, owner: ObjectKey, /) -> Rendered | None:
        """Return the cargo for each site of a berth, `None` if it is none."""
        berth, output = self.world.inputs.get(owner), self.world.outputs.get(owner)
        if owner[:2] != BERTH or berth is None or output is None:
            return None
        placed, path, cargo = on(output.body), berth.origin.path, self._cargo(owner)
        if cargo is None:
            return Rendered(path=path, placed=placed)
        found = self.world.inputs.get(cargo)
        if found is None:
            failed = tuple(NotRendered(site, f"{cargo} is not there") for site, _ in placed)
            return Rendered(path=path, failed=failed, placed=placed)
        works = tuple(_crated(owner, site, {cargo: found.body}) for site, _ in placed)
        return Rendered(path=path, works=works, placed=placed)

    def reach(self, owner: ObjectKey, /) -> Reach:
        """Return where the cargo of a berth may be."""
        output, cargo = self.world.outputs.get(owner), self._cargo(owner)
        if owner[:2] != BERTH or output is None or cargo is None:
            return {}
        return {site: (cargo,) for site, _ in on(output.body)}

    def bringers(self, source: ObjectKey, /) -> tuple[ObjectKey, ...]:
        """Return the berths of a cargo."""
        return tuple(one for one in self.owners() if self._cargo(one) == source)

    def content(self, source: ObjectKey, /) -> None:
        """Return none: cargo goes at once."""

    def unmarked(self, owner: ObjectKey, /) -> Reach:  # noqa: ARG002
        """Return none: nothing asks to outlive its removal."""
        return {}

    def _cargo(self, owner: ObjectKey) -> ObjectKey | None:
        """Return what a berth holds, `None` if nothing."""
        berth = self.world.inputs.get(owner)
        cargo = {} if berth is None else mapping(mapping(berth.body, "spec"), "cargo")
        group = group_of(text(cargo, "apiVersion"))
        found = ObjectKey(group, text(cargo, "kind"), owner.namespace, text(cargo, "name"))
        return found if cargo else None


def _crated(owner: ObjectKey, site: ClusterName, manifests: dict[ObjectKey, Body]) -> ClusterWork:
    """Return the cargo of a berth for a site, and the crate in which ships bring it."""
    name = {"name": f"{owner.name}-{site}", "namespace": owner.namespace}
    crate = {"apiVersion": VERSION, "kind": "Crate", "metadata": name}
    return ClusterWork(cluster=site, carrier=crate, fill=_fill, manifests=manifests)


def _fill(crate: Body, manifests: Sequence[Body]) -> Body:
    return {**crate, "content": manifests}


@dataclass(frozen=True, slots=True)
class Loading:
    """The cargoes of one world after the other: nothing is remembered."""

    def of(self, world: World, _settings: Settings, /) -> Cargoes:
        """Return the cargoes of a world."""
        return Cargoes(world)

    def affected(self, _before: World, _now: World, /) -> None:
        """Return nothing: all may be another."""
