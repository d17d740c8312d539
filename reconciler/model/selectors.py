"""Label selectors as manifests write them, and what an API server would say of a bad one."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.labels import LabelSelector, Requirement

MAX_NAME = 63
KEYS = 1024  # ours: keys of labels that are remembered; many selectors have the same
MAX_SUBDOMAIN = 253

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_VALUE = f"({_NAME})?"
_ALPHANUMERIC = (
    "consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_NAME_RULE = (
    f"must {_ALPHANUMERIC} (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_NAME}')"
)
_VALUE_RULE = (
    f"a valid label must be an empty string or {_ALPHANUMERIC} (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '{_VALUE}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', "
    f"regex used for validation is '{_SUBDOMAIN}')"
)
_IS_NAME, _IS_VALUE, _IS_SUBDOMAIN = (
    re.compile(pattern, re.ASCII) for pattern in (_NAME, _VALUE, _SUBDOMAIN)
)
_NEEDS_VALUES = "for 'in', 'notin' operators, values set can't be empty"
_NEEDS_NONE = "values set must be empty for exists and does not exist"
OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


def decode_label_selector(body: Body) -> LabelSelector:
    """Return the label selector that a mapping holds."""
    return LabelSelector(
        match_labels=fields.pairs_or_none(body, "matchLabels"),
        match_expressions=decode_requirements(body),
    )


def decode_requirements(body: Body) -> tuple[Requirement, ...] | None:
    """Return the matchExpressions of a mapping, `None` if it has none."""
    found = fields.bodies_or_none(body, "matchExpressions")
    if found is None:
        return None
    return tuple(
        Requirement(
            key=fields.text(item, "key"),
            operator=fields.text(item, "operator"),
            values=fields.strings_or_none(item, "values"),
        )
        for item in found
    )


def refusal_of(selector: LabelSelector) -> str:
    """Return why a selector cannot be used, in Kubernetes' words, `""` if it can.

    The first requirement in the wrong is reported, with everything that is wrong with it.

    Source: ocm@00f84c3 vendor/k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go
    `LabelSelectorAsSelector`, and pkg/labels/selector.go `NewRequirement`.

    >>> refusal_of(LabelSelector(match_expressions=(Requirement("a", "Near"),)))
    '"Near" is not a valid label selector operator'
    """
    for requirement in selector.requirements:
        if requirement.operator not in OPERATORS:
            return f"{_quoted(requirement.operator)} is not a valid label selector operator"
        wrong = list(dict.fromkeys(_wrong(requirement)))
        if wrong:
            return wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
    return ""


def refusal_of_value(key: str, value: str) -> str:
    """Return why a text cannot be the value of a label, `""` if it can."""
    if not _about_key(key) and not any(_wrong_value(value)):
        return ""
    return next(_wrong(Requirement(key, "In", (value,))), "")


def _wrong(requirement: Requirement) -> Iterator[str]:
    """Yield what is wrong with a requirement whose operator is known."""
    key, values = requirement.key, requirement.values or ()
    about_key = _about_key(key)
    if about_key:
        yield f"key: Invalid value: {_quoted(key)}: {about_key}"
    if requirement.operator in ("In", "NotIn"):
        if not values:
            yield f"values: Invalid value: null: {_NEEDS_VALUES}"
    elif values:
        listed = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
        yield f"values: Invalid value: {listed}: {_NEEDS_NONE}"
    for position, value in enumerate(values):
        about_value = "; ".join(_wrong_value(value))
        if about_value:
            yield f"values[{position}][{key}]: Invalid value: {_quoted(value)}: {about_value}"


@lru_cache(maxsize=KEYS)
def _about_key(key: str) -> str:
    """Return all that keeps a text from being a qualified name, `""` if nothing does."""
    return "; ".join(_wrong_key(key))


def _wrong_key(key: str) -> Iterator[str]:
    """Yield what keeps a text from being a qualified name."""
    parts = key.split("/")
    if len(parts) > 2:  # a prefix and a name
        yield (
            f"a qualified name {_NAME_RULE} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        )
        return
    prefix, name = parts[:-1], parts[-1]
    if prefix == [""]:
        yield "prefix part must be non-empty"
    elif prefix:
        if len(prefix[0].encode()) > MAX_SUBDOMAIN:
            yield f"prefix part must be no more than {MAX_SUBDOMAIN} bytes"
        if _IS_SUBDOMAIN.fullmatch(prefix[0]) is None:
            yield f"prefix part {_SUBDOMAIN_RULE}"
    if not name:
        yield "name part must be non-empty"
    elif len(name.encode()) > MAX_NAME:
        yield f"name part must be no more than {MAX_NAME} bytes"
    if _IS_NAME.fullmatch(name) is None:
        yield f"name part {_NAME_RULE}"


def _wrong_value(value: str) -> Iterator[str]:
    """Yield what keeps a text from being the value of a label."""
    if len(value.encode()) > MAX_NAME:
        yield f"must be no more than {MAX_NAME} bytes"
    if _IS_VALUE.fullmatch(value) is None:
        yield _VALUE_RULE


def _quoted(text: str) -> str:
    """Return a text in double quotes."""
    return json.dumps(text, ensure_ascii=False)
