"""How scores of clusters are written in an API that weighs clusters by them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reconciler.manifests.edits.steps import Step
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey

Scores = Mapping[str, int]
"""Name of a score to its value, in the order in which they are written."""

LEAST, MOST = -100, 100
"""Between these a score is.

Source: open-cluster-management.io/api cluster/v1alpha1 types_addonplacementscore.go
`AddOnPlacementScoreItem.Value`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """One API's way.

    Attributes:
        key_of: Returns the object that has the scores of a cluster, given the names of both.
        manifest: Returns that object, new; the last argument is until when it counts in RFC 3339,
            `None` for ever.
        steps: Returns how one that is there changes; scores of other names stay.
    """

    key_of: Callable[[str, str], ObjectKey]
    manifest: Callable[[ObjectKey, Scores, str | None], Body]
    steps: Callable[[Body, Scores, str | None], tuple[Step, ...]]
