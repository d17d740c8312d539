"""Why a difference from upstream's CRDs stays: the rows of `fixtures/crds/reasons.json`."""

import json
import re
from functools import cache
from typing import NamedTuple

from tests.shell.fleet import ROOT


class Reason(NamedTuple):
    """Differences that are meant; `*` in the first two stands for any text.

    Attributes:
        kinds: As in `policy.karmada.io/v1alpha1 PropagationPolicy`.
        field: As in `spec.taints[].key`.
        ours: The fact as it is shown, `-` for none.
        theirs: Likewise. Both are told to the letter, so a reason never covers a later change.
        reason: One sentence.
    """

    kinds: str
    field: str
    ours: str
    theirs: str
    reason: str

    def covers(self, kind: str, field: str, ours: str, theirs: str) -> bool:
        """Return whether it is the reason of a difference."""
        same = (self.ours, self.theirs) == (ours, theirs)
        return same and fits(self.kinds, kind) and fits(self.field, field)


def fits(pattern: str, text: str) -> bool:
    """Return whether a text is of a pattern, in which `*` stands for any text.

    >>> fits("spec.*[].key", "spec.taints[].key"), fits("spec", "spec.taints")
    (True, False)
    """
    return _compiled(pattern).fullmatch(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))))


def read_reasons() -> tuple[Reason, ...]:
    """Return all reasons, in the order of the file."""
    rows = json.loads((ROOT / "fixtures/crds/reasons.json").read_text(encoding="utf-8"))
    return tuple(Reason(**row) for row in rows)
