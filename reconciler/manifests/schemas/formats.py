"""The formats that our schemas assert."""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping

from reconciler.model.moments import parse_instant

MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)


def is_moment(value: object) -> bool:
    """Return whether a value is an RFC 3339 moment as Kubernetes takes it; other types pass.

    >>> is_moment("2026-01-02T15:04:05Z"), is_moment("2026-02-30T00:00:00Z")
    (True, False)
    """
    if not isinstance(value, str):
        return True
    if not MOMENT.fullmatch(value):
        return False
    try:
        parse_instant(value)  # refuses a year that UTC does not have, too
    except ValueError:
        return False
    return True


def is_base64(value: object) -> bool:
    """Return whether a value is Base64; other types pass.

    >>> is_base64("YQ=="), is_base64("YQ")
    (True, False)
    """
    if not isinstance(value, str):
        return True
    try:
        b64decode(value.encode("utf-8"), validate=True)
    except binascii.Error:
        return False
    return True


def is_re2(value: object) -> bool:
    """Return whether a value is a regular expression as RE2 takes it; other types pass.

    >>> is_re2("kube-.*"), is_re2("kube-(")
    (True, False)
    """
    if not isinstance(value, str):
        return True
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  # where a schema asks for it

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(value, options=options)
    except re2.error:
        return False
    return True


FORMATS: Mapping[str, Callable[[object], bool]] = {
    "date-time": is_moment,
    "byte": is_base64,
    "re2": is_re2,
}
"""What our schemas may ask for, by name."""
