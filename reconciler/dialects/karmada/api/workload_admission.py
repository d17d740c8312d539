"""What an API server would refuse of a workload's replicas: a typo there must take nothing away."""

from collections.abc import Callable, Mapping
from functools import partial

from reconciler.dialects.karmada.api.custom_kinds import MOST_REPLICAS
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body

COUNTS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("apps", "Deployment"): ("replicas",),
    ("apps", "ReplicaSet"): ("replicas",),
    ("apps", "StatefulSet"): ("replicas",),
    ("batch", "Job"): ("parallelism", "completions"),
}
"""(group, kind) to the fields of its spec that are numbers of pods."""


def refuse_counts(fields: tuple[str, ...], body: Body) -> tuple[Violation, ...]:
    """Return which fields of a workload's spec are no numbers of pods.

    Nothing else of a workload is judged: its content is its member cluster's to judge.
    """
    spec = body.get("spec")
    found = spec if isinstance(spec, Mapping) else {}
    return tuple(
        Violation(
            f"/spec/{field}",
            "workload-replicas",
            f"`{field}` must be a whole number of pods, from 0 to {MOST_REPLICAS}",
            _remedy(found.get(field)),
        )
        for field in fields
        if not _is_count(found.get(field))
    )


def _remedy(value: object) -> str:
    """Return what to write instead of a value that is no number of pods.

    >>> _remedy(-1), _remedy(1.5), _remedy("3")
    ('0 or more', 'a whole number', 'a number without quotes')
    """
    match value:
        case int() if not isinstance(value, bool):
            return "0 or more" if value < 0 else f"{MOST_REPLICAS} or less"
        case float():
            return "a whole number"
        case _:
            return "a number without quotes"


def _is_count(value: object) -> bool:
    """Return whether a value is a number of pods, or is left out."""
    if value is None:
        return True
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_REPLICAS


WORKLOAD_ADMISSIONS: Mapping[tuple[str, str], Callable[[Body], tuple[Violation, ...]]] = {
    kind: partial(refuse_counts, fields) for kind, fields in COUNTS.items()
}
"""By (group, kind)."""
