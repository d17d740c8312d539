"""What all clusters say of their copies: in plain reports, and in objects of agents."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.model.copy_report import CopyReport
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import Versioned, differing_keys, patched
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


@dataclass(slots=True)
class CopyTable:
    """The reports of the world that was asked about last; it is changed in place."""

    _feedback: Mapping[ObjectKey, Manifest] = field(default_factory=dict, repr=False)
    _told: dict[ObjectKey, tuple[ObjectKey, ...]] = field(default_factory=dict, repr=False)
    _carriers: dict[ObjectKey, dict[ObjectKey, CopyReport]] = field(default_factory=dict)
    _carried: Mapping[ObjectKey, CopyReport] = field(default_factory=Versioned)

    def follow(self, world: World) -> CopyReports:
        """Return the reports of a world; of two carriers of one object the lesser key counts."""
        carriers, touched = world.known.carriers, set[ObjectKey]()
        for key in differing_keys(world.feedback, self._feedback):
            unpack = carriers.get((key.group, key.kind))
            if unpack is None:
                continue
            for one in self._told.pop(key, ()):
                self._carriers[one].pop(key, None)
                touched.add(one)
            manifest = world.feedback.get(key)
            for copied, report in () if manifest is None else unpack(manifest.body):
                one = copied._replace(reporter=key.reporter)
                self._carriers.setdefault(one, {})[key] = report
                self._told[key] = (*self._told.get(key, ()), one)
                touched.add(one)
        self._feedback = world.feedback
        self._renew(touched)
        return CopyReports(world.feedback, self._carried)

    def _renew(self, touched: set[ObjectKey]) -> None:
        """Choose anew among the carriers of some copies."""
        came = {}
        for one in touched:
            found = self._carriers[one]
            if found:
                came[one] = found[min(found)]
            else:
                del self._carriers[one]
        self._carried = patched(self._carried, came, touched)
