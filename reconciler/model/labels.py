"""Label selectors as Kubernetes judges them: all of matchLabels and matchExpressions hold."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from reconciler.model.content import at, has_only_texts

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_DNS = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_MAX_PREFIX = 253
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
    prefix, slash, name = text.rpartition("/")
    if slash and (len(prefix) > _MAX_PREFIX or _DNS.fullmatch(prefix) is None):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Return whether the text may be a label's value.

    >>> is_label_value(""), is_label_value("-a")
    (True, False)
    """
    return not text or _NAME.fullmatch(text) is not None


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
    known = at(body, "metadata", "labels")
    if body.get("kind") == "Namespace" and body.get("apiVersion") == "v1":
        known = {**known, NAMESPACE_NAME: at(body, "metadata").get("name")}
    if has_only_texts(known):  # the usual case, and faster
        return known
    return {key: value for key, value in known.items() if isinstance(value, str)}


def has_odd_labels(body: Mapping[str, object]) -> bool:
    """Return whether the labels that are written are none, or not all of them."""
    written = at(body, "metadata").get("labels")
    return written is not None and not (isinstance(written, Mapping) and has_only_texts(written))
