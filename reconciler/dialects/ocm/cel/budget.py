"""What an expression may cost: it comes from the repository, which is untrusted.

All is counted, nothing is timed: the same expression is refused on every machine, or on none.
"""

import sys
from dataclasses import dataclass, field

from reconciler.dialects.ocm.cel.values import CelOptional
from reconciler.errors import Misconfigured
from reconciler.model.same import Same

LONGEST = 10 * 1024  # characters of one selector; Kubernetes' limit for CEL in device requests
DEEPEST = 250  # levels of the parse tree; cel-go's default limit of recursion
LARGEST = 100_000  # characters and items in one value
STEPS = 100_000  # of one expression for one cluster; a step takes some microseconds
STEPS_PER_CLUSTER = 1_000  # on top, for all clusters together
STEPS_OF_NODE = 4  # that is evaluated
WEIGHT_OF_STEP = 64  # characters or items that are handled in a step
ITEMS_OF_STEP = 8  # items that are counted in a step

TOO_LONG = f"compilation failed: the expressions have more than {LONGEST} characters"
TOO_DEEP = f"compilation failed: the expression is nested more than {DEEPEST} levels deep"
TOO_LARGE = f"the expression makes a value of more than {LARGEST} characters and items"
TOO_MANY = f"the expression takes more than {STEPS} steps for a cluster, shorten its lists"
TOO_MANY_IN_ALL = (
    f"the expressions take more than {STEPS_PER_CLUSTER} steps a cluster, shorten their lists"
)

FRAMES = 2500  # of Python's stack, enough for the depth that is allowed

sys.setrecursionlimit(max(sys.getrecursionlimit(), FRAMES))


def refuse_length(length: int) -> None:
    """Raise if a text that is to be made would be too long.

    Raises:
        Misconfigured: It would.
    """
    if length > LARGEST:
        raise Misconfigured(TOO_LARGE)


@dataclass(slots=True)
class Meter:
    """Counts the steps of a selector over all clusters; `left` is what they may still take."""

    left: int
    _steps: int = 0
    _weights: dict[Same, tuple[int, int]] = field(default_factory=dict)

    def restart(self) -> None:
        """Begin with another expression or cluster."""
        self._steps = 0
        self._weights.clear()

    def charge(self, steps: int) -> None:
        """Count steps.

        Raises:
            Misconfigured: They are too many.
        """
        self._steps += steps
        self.left -= steps
        if self._steps > STEPS:
            raise Misconfigured(TOO_MANY)
        if self.left < 0:
            raise Misconfigured(TOO_MANY_IN_ALL)

    def weigh(self, value: object) -> int:
        """Return how many characters and items a value has, those inside of its items included.

        How deep it is nested is bounded, too.

        A container that stands in it twice counts twice, since to compare it takes as long; it is
        walked through once.

        Raises:
            Misconfigured: They are too many.
        """
        weight, depth = self._weighed(value)
        refuse_length(weight)
        if depth > DEEPEST:
            raise Misconfigured(TOO_DEEP)
        return weight

    def _weighed(self, value: object) -> tuple[int, int]:
        """Return how heavy a value is, and how deep."""
        match value:
            case str() | bytes():
                return len(value), 0
            case list() | dict():
                same = Same(value)
                known = self._weights.get(same)
                if known is not None:
                    return known
                self.charge(1 + len(value) // ITEMS_OF_STEP)
                weight, depth = 1, 0
                inner = value if isinstance(value, list) else (*value, *value.values())
                for one in inner:
                    heavy, deep = self._weighed(one)
                    weight, depth = weight + heavy, max(depth, deep)
                    refuse_length(weight)
                    if depth > DEEPEST:
                        raise Misconfigured(TOO_DEEP)
                self._weights[same] = weight, depth + 1
                return weight, depth + 1
            case CelOptional():
                weight, depth = self._weighed(value.value)
                return weight + 1, depth + 1
        return 1, 0
