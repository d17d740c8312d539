"""Label selectors as manifests write them, and as Kubernetes judges them.

All of matchLabels and matchExpressions must hold. A bad selector is refused in the words of an API
server.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.fields import at, has_only_texts
from reconciler.model.records import dataclass

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""Label that every API server gives to every Namespace."""
ONE_OF = frozenset({"In", "=", "=="})
NONE_OF = frozenset({"NotIn", "!="})
COMPARING = frozenset({"Gt", "Lt"})


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression on one label. `values` is `None` where the file gives none."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None


class LabelSelector(NamedTuple):
    """A selector as written; equal selectors are equal questions, so it serves as a key.

    `match_labels` is sorted by key. `None` means that the file does not name the field, which
    differs from an empty one for those who compare manifests, not for those who match.
    """

    match_labels: tuple[tuple[str, str], ...] | None = None
    match_expressions: tuple[Requirement, ...] | None = None

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """Everything that must hold, as expressions."""
        equal = tuple(Requirement(key, "In", (value,)) for key, value in self.match_labels or ())
        return equal + (self.match_expressions or ())


def is_label_key(text: str) -> bool:
    """Return whether the text may be a label's key: an optional DNS prefix, a slash, a name.

    >>> is_label_key("example.com/tier"), is_label_key("a b")
    (True, False)
    """
    return not _about_key(text)


def is_label_value(text: str) -> bool:
    """Return whether the text may be a label's value.

    >>> is_label_value(""), is_label_value("-a")
    (True, False)
    """
    return len(text) <= MAX_NAME and _IS_VALUE.fullmatch(text) is not None


def is_wellformed(requirement: Requirement) -> bool:
    """Return whether a requirement can be judged; a selector with one that cannot matches none.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/labels/selector.go `NewRequirement`.
    """
    values = requirement.values or ()
    if not is_label_key(requirement.key):
        return False
    match requirement.operator:
        case operator if operator in ONE_OF | NONE_OF:
            return bool(values) and all(map(is_label_value, values))
        case "Exists" | "DoesNotExist":
            return not values
        case operator if operator in COMPARING:
            return len(values) == 1 and _INTEGER.fullmatch(values[0]) is not None
        case _:
            return False


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Return whether a well-formed requirement holds for the labels.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/labels/selector.go
    `Requirement.Matches`: NotIn holds where the key is missing.
    """
    value = labels.get(requirement.key)
    values = requirement.values or ()
    match requirement.operator:
        case operator if operator in ONE_OF:
            return value is not None and value in values
        case operator if operator in NONE_OF:
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" if value is not None and _INTEGER.fullmatch(value):
            greater = int(value) > int(values[0])
            return greater if requirement.operator == "Gt" else int(value) < int(values[0])
        case _:
            return False


def matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether the labels satisfy the selector; an empty one is satisfied by all.

    >>> matches(LabelSelector(match_labels=(("env", "prod"),)), {"env": "prod"})
    True
    >>> matches(LabelSelector(match_expressions=(Requirement("env", "In", ()),)), {"env": "x"})
    False
    """
    return selecting(selector)(labels)


def unmet(
    requirements: Iterable[Requirement], labels: Mapping[str, str], noun: str = "label"
) -> tuple[str, ...]:
    """Return what labels lack of requirements, each a clause that follows "to qualify".

    >>> unmet([Requirement("tier", "In", ("productoin",))], {"tier": "production"})
    ('have label tier=productoin (it has tier=production; did you mean that?)',)
    >>> unmet([Requirement("edge", "DoesNotExist"), Requirement("env", "Exists")], {"edge": ""})
    ('have no label edge (it has edge=)', 'have label env (it has none)')
    """
    return tuple(
        _lacking(one, labels.get(one.key), noun)
        for one in requirements
        if not (is_wellformed(one) and holds(one, labels))
    )


def _lacking(requirement: Requirement, value: str | None, noun: str) -> str:
    """Return what one value lacks; a value that is nearly the wanted one is asked about."""
    key, wanted = requirement.key, requirement.values or ()
    if not is_wellformed(requirement):
        return f"be asked about {noun} {key} by an expression that can be judged"
    said = f"{key}={wanted[0]}" if len(wanted) == 1 else f"{key} in ({', '.join(wanted)})"
    match requirement.operator:
        case operator if operator in ONE_OF:
            asked = f"have {noun} {said}"
        case operator if operator in NONE_OF:
            asked = f"not have {noun} {said}"
        case "Exists":
            asked = f"have {noun} {key}"
        case "DoesNotExist":
            asked = f"have no {noun} {key}"
        case _:
            sign = ">" if requirement.operator == "Gt" else "<"
            asked = f"have {noun} {key} {sign} {wanted[0]}"
    if value is None:
        return f"{asked} (it has none)"
    from difflib import get_close_matches  # noqa: PLC0415  # only for what is wrong

    near = requirement.operator in ONE_OF and get_close_matches(value, wanted, n=1, cutoff=0.75)
    return f"{asked} (it has {key}={value}{'; did you mean that?' if near else ''})"


@lru_cache(maxsize=1 << 12)  # a policy's selector judges each workload that has its rarest label
def selecting(selector: LabelSelector) -> Callable[[Mapping[str, str]], bool]:
    """Return what judges the labels of many objects by a selector, as `matches` does of one."""
    requirements = selector.requirements
    if not all(map(is_wellformed, requirements)):
        return lambda _: False
    return lambda labels: all(holds(requirement, labels) for requirement in requirements)


def labels_of(body: Mapping[str, object]) -> Mapping[str, str]:
    """Return the labels of a manifest; those that are no strings are passed over.

    A Namespace has the one that every API server gives it.

    >>> labels_of({"metadata": {"labels": {"app": "web", "replicas": 3}}})
    {'app': 'web'}
    >>> labels_of({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    {'kubernetes.io/metadata.name': 'shop'}

    Source: kubernetes pkg/apis/core/v1/defaults.go `SetDefaults_Namespace`.
    """
    labels = at(body, "metadata", "labels")
    if body.get("kind") == "Namespace" and body.get("apiVersion") == "v1":
        labels = {**labels, NAMESPACE_NAME: at(body, "metadata").get("name")}
    if has_only_texts(labels):  # the usual case, and faster
        return labels
    return {key: value for key, value in labels.items() if isinstance(value, str)}


def has_odd_labels(body: Mapping[str, object]) -> bool:
    """Return whether the labels that are written are none, or not all of them."""
    written = at(body, "metadata").get("labels")
    return written is not None and not (isinstance(written, Mapping) and has_only_texts(written))


MAX_NAME = 63
KEYS = 1024  # ours: keys of labels that are remembered; many selectors have the same
MAX_SUBDOMAIN = 253

_SELECTOR_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_VALUE = f"({_SELECTOR_NAME})?"
_ALPHANUMERIC = (
    "consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_NAME_RULE = (
    f"must {_ALPHANUMERIC} (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_SELECTOR_NAME}')"
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
    re.compile(pattern, re.ASCII) for pattern in (_SELECTOR_NAME, _VALUE, _SUBDOMAIN)
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
    expressions = fields.bodies_or_none(body, "matchExpressions")
    if expressions is None:
        return None
    return tuple(
        Requirement(
            key=fields.text(item, "key"),
            operator=fields.text(item, "operator"),
            values=fields.strings_or_none(item, "values"),
        )
        for item in expressions
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
    return json.dumps(text, ensure_ascii=False)
