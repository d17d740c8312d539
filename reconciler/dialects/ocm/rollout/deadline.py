"""How long a cluster of a rollout may take.

Source: ocm@00f84c3 sdk-go pkg/apis/cluster/v1alpha1/rollout.go `parseTimeout`.
"""

import re

from reconciler.errors import UserError
from reconciler.manifests.durations import LONGEST, parse_duration

_DEADLINE = re.compile(r"^(([0-9])+[h|m|s])|None$(?!\n)")  # upstream's, looser than it was meant


def parse_deadline(text: str) -> int:
    """Return how long a cluster may take, in nanoseconds; `LONGEST` for ever.

    Raises:
        UserError: It is neither empty, nor `None`, nor a duration; the message is upstream's.

    >>> parse_deadline("None") == LONGEST
    True
    """
    if text in ("", "None"):
        return LONGEST
    if not _DEADLINE.search(text):
        raise UserError("invalid timeout format")
    return parse_duration(text)
