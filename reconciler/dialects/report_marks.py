"""Marks of what member clusters report of each object: another one once a report differs."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from reconciler.dialects.copy_reports import CopyReports
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import differing_keys


@dataclass(slots=True)
class ReportMarks:
    """What was reported when it was asked last, by object; it is changed in place."""

    _copies: CopyReports = field(default_factory=CopyReports)
    _reporters: dict[ObjectKey, set[str]] = field(default_factory=dict)
    _marks: dict[ObjectKey, object] = field(default_factory=dict)

    def follow(self, copies: CopyReports) -> set[ObjectKey]:
        """Go on to other reports, and return the objects on which they differ."""
        changed = set()
        for key in self._differing(copies):
            one = key._replace(reporter="")
            changed.add(one)
            reporters = self._reporters.setdefault(one, set())
            if key in copies.plain or key in copies.carried:
                reporters.add(key.reporter)
            else:
                reporters.discard(key.reporter)
        for one in changed:
            if self._reporters[one]:
                self._marks[one] = object()
            else:
                del self._reporters[one]
                self._marks.pop(one, None)
        self._copies = copies
        return changed

    def _differing(self, copies: CopyReports) -> Iterator[ObjectKey]:
        """Yield the keys of the reports that say something else than before."""
        for key in differing_keys(copies.plain, self._copies.plain):
            now, before = copies.plain.get(key), self._copies.plain.get(key)
            if now is None or before is None or now.body is not before.body:
                yield key
        yield from differing_keys(copies.carried, self._copies.carried)

    def of(self, key: ObjectKey) -> object:
        """Return the mark of an object, `None` if there are no reports on it."""
        return self._marks.get(key)
