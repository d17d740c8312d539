"""What KubeFleet calls unexpected behaviour: an input that it never retries."""

from reconciler.errors import UserError


class UnexpectedBehavior(UserError):
    """The scheduler, a snapshot or the rollout cannot go on until a person edits something.

    Source: kubefleet@e160c1c pkg/utils/controller/controller.go `NewUnexpectedBehaviorError`.
    """


class UpstreamCrash(UnexpectedBehavior):
    """An input past the schema, of which upstream's scheduler crashes; defaults prevent it."""


def as_count(text: str | None, what: str) -> int:
    """Return the number that an annotation or label holds, zero or more.

    Args:
        text: Its value, `None` where it is missing.
        what: Its name, for the message.

    Raises:
        UnexpectedBehavior: It is missing, not an integer, or negative.

    Source: kubefleet@e160c1c pkg/utils/annotations/annotations.go `extractIntegerFrom...`.
    """
    if text is None:
        raise UnexpectedBehavior(f"cannot find annotation {what}")
    number = as_integer(text)
    if number is None or number < 0:
        raise UnexpectedBehavior(f'"{text}" of {what} must be an integer of zero or more')
    return number


def as_integer(text: str) -> int | None:
    """Return the integer that a text names by Go's rules, `None` if it names none.

    >>> as_integer("+7"), as_integer("7.0"), as_integer("1_0")
    (7, None, None)

    Source: Go src/strconv/atoi.go `Atoi`.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
