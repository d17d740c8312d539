"""Marks of what member clusters report of each workload: another one once a report differs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Manifest


@dataclass(slots=True)
class ReportMarks:
    """What was reported when it was asked last, by workload; it is changed in place."""

    _feedback: Mapping[ObjectKey, Manifest] = field(default_factory=dict)
    _reports: dict[ObjectKey, dict[str, Manifest]] = field(default_factory=dict)
    _marks: dict[ObjectKey, object] = field(default_factory=dict)

    def follow(self, feedback: Mapping[ObjectKey, Manifest]) -> set[ObjectKey]:
        """Go on to other reports, and return the workloads on which they differ."""
        changed = set()
        for key in differing_keys(feedback, self._feedback):
            now, before = feedback.get(key), self._feedback.get(key)
            if now is before or (
                now is not None and before is not None and now.body is before.body
            ):
                continue
            workload = key._replace(reporter="")
            changed.add(workload)
            reports = self._reports.setdefault(workload, {})
            if now is None:
                reports.pop(key.reporter, None)
            else:
                reports[key.reporter] = now
        for workload in changed:
            if self._reports[workload]:
                self._marks[workload] = object()
            else:
                del self._reports[workload], self._marks[workload]
        self._feedback = feedback
        return changed

    def of(self, workload: ObjectKey) -> object:
        """Return the mark of a workload, `None` if there are no reports on it."""
        return self._marks.get(workload)
