"""What a cluster reports of itself, as each API has it: health, capacity, what is free."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.resources import Resources

PLACE = ("region", "zone")
UNREACHED = "the cluster cannot be reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """The report of one cluster.

    Attributes:
        ready: `True`, `False` or `Unknown`.
        capacity: What it can give away, `None` where it does not say.
        free: What is left, `None` where it does not say.
        down: What is wrong with it, a clause; `""` if it is well, or says nothing of it.
    """

    ready: str
    capacity: Resources | None
    free: Resources | None = None
    down: str = ""


class ClusterPlace(NamedTuple):
    """Where a cluster stands; `""` where it does not say."""

    region: str
    zone: str


def labelled_place(cluster: Body) -> ClusterPlace:
    """Return where a cluster stands by the labels that Kubernetes has for it."""
    labels = mapping(mapping(cluster, "metadata"), "labels")
    return ClusterPlace(*(text(labels, f"topology.kubernetes.io/{part}") for part in PLACE))


def reported_trouble(conditions: Sequence[Body], kind: str) -> str:
    """Return what is wrong by a condition that should be True, `""` if nothing is.

    >>> reported_trouble([{"type": "Ready", "status": "False", "reason": "PowerLost"}], "Ready")
    'is not ready (PowerLost)'
    """
    found: Body = next((item for item in conditions if text(item, "type") == kind), {})
    trouble = {"False": "is not ready", "Unknown": "cannot be reached"}.get(text(found, "status"))
    if trouble is None:
        return ""
    told = ": ".join(filter(None, (text(found, "reason"), text(found, "message"))))
    return f"{trouble} ({told})" if told else trouble


def reported_status(conditions: Sequence[Body], kind: str) -> str:
    """Return the status of a condition, `Unknown` if there is none."""
    found = (text(item, "status") for item in conditions if text(item, "type") == kind)
    return next(found, "Unknown")


def simulated_condition(kind: str, status: str, message: str, moment: str) -> Body:
    """Return a condition as an agent would report it."""
    return {
        "type": kind,
        "status": status,
        "reason": "Simulated",
        "message": message,
        "lastTransitionTime": moment,
    }


def unknown_since(status: Body, conditions: Sequence[Body], kind: str, moment: str) -> Body:
    """Return the status of a cluster of which it is not known any more whether it is well.

    Args:
        status: As it was.
        conditions: Those in it.
        kind: Type of the condition that says whether it is well.
        moment: Since when, RFC 3339.
    """
    others = [one for one in conditions if text(one, "type") != kind]
    condition = simulated_condition(kind, "Unknown", UNREACHED, moment)
    return {**status, "conditions": [condition, *others]}
