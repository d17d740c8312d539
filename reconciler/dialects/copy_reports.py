"""What all clusters say of their copies: in plain reports, and in objects of agents."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.dialects.followed_index import Followed, FollowedIndex
from reconciler.model.copy_report import CopyReport
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import Versioned, patched
from reconciler.model.world import Manifest, World


@dataclass(frozen=True, slots=True)
class CopyReports:
    """Reports by keys that name the reporter; a plain one is nearer to the cluster, so it counts.

    Attributes:
        plain: All feedback; the objects of agents among it are reports of themselves only.
        carried: What these say of other objects.
    """

    plain: Mapping[ObjectKey, Manifest] = field(default_factory=dict, repr=False)
    carried: Mapping[ObjectKey, CopyReport] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.plain)

    def of(self, key: ObjectKey, cluster: str) -> CopyReport | None:
        """Return what a cluster says of its copy of an object, `None` if nothing."""
        if not self.plain:
            return None
        reported = key._replace(reporter=cluster)
        found = self.plain.get(reported)
        return self.carried.get(reported) if found is None else CopyReport(body=found.body)


CarriedReports = Mapping[ObjectKey, CopyReport]
"""What one object of an agent says of others, by keys that name the reporter."""


@dataclass(slots=True, eq=False)
class CopyTable:
    """The reports of the world that was asked about last; it is changed in place."""

    _feedback: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _unpacked: Mapping[ObjectKey, CarriedReports] = field(default_factory=Versioned, repr=False)
    _carriers: FollowedIndex[ObjectKey, CarriedReports] = field(
        default_factory=lambda: FollowedIndex(lambda _key, carried: carried)
    )
    _carried: Mapping[ObjectKey, CopyReport] = field(default_factory=Versioned, repr=False)

    def follow(self, world: World) -> CopyReports:
        """Return the reports of a world; of two carriers of one object the lesser key counts."""
        came, gone = dict[ObjectKey, CarriedReports](), list[ObjectKey]()
        for key, _, now in self._feedback.follow(world.feedback):
            unpack = world.known.carriers.get((key.group, key.kind))
            if unpack is None:
                continue
            if now is None:
                gone.append(key)
            else:
                found = unpack(now.body)
                came[key] = {one._replace(reporter=key.reporter): report for one, report in found}
        self._unpacked = patched(self._unpacked, came, gone)
        touched = self._carriers.follow(self._unpacked)
        chosen = ((one, self._carriers.found(one)) for one in touched)
        counting = {one: next(iter(found.values()))[one] for one, found in chosen if found}
        self._carried = patched(self._carried, counting, touched)
        return CopyReports(world.feedback, self._carried)


@dataclass(slots=True, eq=False)
class ReportedObjects:
    """What was reported when it was followed last; it is changed in place."""

    _plain: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _carried: Followed[ObjectKey, CopyReport] = field(default_factory=Followed)

    def follow(self, copies: CopyReports) -> set[ObjectKey]:
        """Go on to other reports, and return the objects on which they differ."""
        plain, carried = self._plain.follow(copies.plain), self._carried.follow(copies.carried)
        keys = {step.key for step in carried}
        for key, before, now in plain:
            if before is None or now is None or now.body is not before.body:
                keys.add(key)
        return {key._replace(reporter="") for key in keys}
