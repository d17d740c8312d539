"""An AddOnPlacementScore as it is written: one object for a cluster, in the namespace of its name.

Source: open-cluster-management.io/api cluster/v1alpha1 types_addonplacementscore.go.
"""

from collections.abc import Iterator

from reconciler.dialects.scores.reports import SCORES
from reconciler.dialects.scoring import Scores, Scoring
from reconciler.manifests.edits.fields_in_text import Item
from reconciler.manifests.edits.steps import AppendItem, SetField, Step
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey

LIST, UNTIL = ("status", "scores"), ("status", "validUntil")


def score_key(cluster: str, name: str) -> ObjectKey:
    """Return the object that has the scores of a cluster."""
    return ObjectKey(*SCORES, cluster, name)


def encode_scores(key: ObjectKey, scores: Scores, until: str | None) -> Body:
    """Return a new object; `until` is a moment in RFC 3339, `None` for no end."""
    limit = {} if until is None else {"validUntil": until}
    return {
        "apiVersion": f"{key.group}/v1alpha1",
        "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "status": {**limit, "scores": [_item(*one) for one in scores.items()]},
    }


def score_steps(body: Body, scores: Scores, until: str | None) -> tuple[Step, ...]:
    """Return how an object gets scores; those of other names stay."""
    return tuple(_steps(mapping(body, "status"), scores, until))


def _steps(status: Body, scores: Scores, until: str | None) -> Iterator[Step]:
    known = bodies(status, "scores")
    for name, value in scores.items():
        at = next((n for n, one in enumerate(known) if text(one, "name") == name), None)
        if at is None:
            yield AppendItem(LIST, _item(name, value))
        elif known[at].get("value") != value:
            yield SetField((*LIST, at, "value"), value)
    if until is not None and status.get("validUntil") != until:
        yield SetField(UNTIL, until)


def _item(name: str, value: int) -> Item:
    return {"name": name, "value": value}


SCORING = Scoring(key_of=score_key, manifest=encode_scores, steps=score_steps)
