"""Label selectors as people write them: `-l app=shop,tier in (web, db),!canary`."""

import re

from reconciler.errors import UsageError
from reconciler.model.labels import LabelSelector, Requirement, is_wellformed
from reconciler.model.message_text import shown

_PART = re.compile(r"\s*((?:[^,()]|\([^()]*\))+?)\s*(?:,|$)")
_SET = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(r"([^\s=!]+)\s*(==|=|!=)\s*(\S*)")
_EXISTS = re.compile(r"(!?)\s*([^\s=!]+)")
EXAMPLE = "app=shop,tier!=db, tier in (web,cache), tier notin (db), app, or !app"


def parse_selector(text: str) -> LabelSelector:
    """Return the label selector that kubectl reads in a text.

    Source: apimachinery pkg/labels/selector.go `Parse`.

    Raises:
        UsageError: It is none.
    """
    parts, end = [], 0
    while end < len(text):
        match = _PART.match(text, end)
        if match is None:
            raise _refusal(text)
        parts.append(_requirement(match[1], text))
        end = match.end()
    if not parts or text.rstrip().endswith(","):
        raise _refusal(text)
    return LabelSelector(match_expressions=tuple(parts))


def _requirement(part: str, text: str) -> Requirement:
    """Return what one part of a selector asks for."""
    if match := _SET.fullmatch(part):
        operator = "In" if match[2] == "in" else "NotIn"
        values = tuple(value.strip() for value in match[3].split(","))
        found = Requirement(match[1], operator, values)
    elif match := _EQUAL.fullmatch(part):
        found = Requirement(match[1], "NotIn" if match[2] == "!=" else "In", (match[3],))
    elif match := _EXISTS.fullmatch(part):
        found = Requirement(match[2], "DoesNotExist" if match[1] else "Exists")
    else:
        raise _refusal(text)
    if not is_wellformed(found):
        raise _refusal(text)
    return found


def _refusal(text: str) -> UsageError:
    return UsageError(f"-l {shown(text)} must be a label selector such as {EXAMPLE}")
