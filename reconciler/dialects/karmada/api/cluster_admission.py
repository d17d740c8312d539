"""What Karmada's API server refuses of a Cluster, and what it fills in; one sentence for each rule.

First the spec is judged, with addresses read as Go reads them, then labels, annotations, finalizers
and owners. Of the metadata of other kinds only the type is judged: labels and annotations are text.
What is admitted is stored with zones as a list and resource models in order of size.

Source: k8s.io/apimachinery pkg/api/validation/objectmeta.go `ValidateObjectMetaAccessor`.
"""

import re
from collections.abc import Iterator, Sequence

from reconciler.manifests.schemas.violations import Violation, pointer_of
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, strings, text
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.quantity import MAX_VALUE, parse_quantity
from reconciler.model.text import shown

MAX_NAME = 48
SYNC_MODES = ("Pull", "Push")
LABEL_VALUE = "at most 63 letters, digits, '-', '_' or '.', first and last one of the former two"


def refuse_spec(body: Body) -> Iterator[Violation]:
    """Yield what is wrong with a cluster that its schema accepts.

    Source: karmada@f8fdd02 pkg/apis/cluster/validation/validation.go `ValidateCluster`,
    `ValidateClusterSpec`.
    """
    spec = mapping(body, "spec")
    yield from _name(body)
    yield from _sync_mode(spec)
    yield from _addresses(spec)
    yield from _location(spec)
    yield from _taints(spec)
    fault = models_fault(bodies(spec, "resourceModels"))
    if fault:
        yield Violation("/spec/resourceModels", "cluster-models", fault)


def _name(body: Body) -> Iterator[Violation]:
    """A cluster's name is part of a namespace's name and of a label."""
    name = text(mapping(body, "metadata"), "name")
    if len(name) > MAX_NAME or "." in name:
        yield Violation(
            "/metadata/name",
            "cluster-name",
            f"the name {shown(name)} must be a DNS label of at most {MAX_NAME} characters",
            "lower-case letters, digits and '-'",
        )


def _sync_mode(spec: Body) -> Iterator[Violation]:
    """Either the control plane pushes, or the cluster pulls."""
    mode = text(spec, "syncMode")
    if mode not in SYNC_MODES:
        modes = ", ".join(SYNC_MODES)
        message = f"the mode {shown(mode)} must be one of {modes}"
        yield Violation("/spec/syncMode", "cluster-sync-mode", message, modes)


def _addresses(spec: Body) -> Iterator[Violation]:
    """Addresses are URLs with a scheme."""
    for name, fault in (("apiEndpoint", endpoint_fault), ("proxyURL", proxy_fault)):
        given = text(spec, name)
        why = fault(given) if given else None
        if why:
            yield Violation(f"/spec/{name}", "cluster-address", f"`{name}` {why}")


def _location(spec: Body) -> Iterator[Violation]:
    """What groups clusters must fit into labels, and zones are given in one way."""
    places = {f"/spec/{name}": text(spec, name) for name in ("provider", "region", "zone")}
    if text(spec, "zone") and strings(spec, "zones"):
        yield Violation(
            "/spec/zones",
            "cluster-zones",
            "`zones` must not stand beside `zone`",
            "zones alone, which supersedes zone",
        )
        del places["/spec/zone"]
    else:
        zones = strings(spec, "zones")
        places |= {f"/spec/zones/{position}": zone for position, zone in enumerate(zones)}
    for at, place in places.items():
        if not is_label_value(place):
            message = f"{shown(place)} must be a label value"
            yield Violation(at, "cluster-location", message, LABEL_VALUE)


def _taints(spec: Body) -> Iterator[Violation]:
    """Taints have the form of labels, and one of a key and effect."""
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(bodies(spec, "taints")):
        at, key, value = f"/spec/taints/{position}", text(taint, "key"), text(taint, "value")
        if not is_label_key(key):
            yield Violation(
                f"{at}/key", "cluster-taint-key", f"the key {shown(key)} must be a label key"
            )
        if not is_label_value(value):
            yield Violation(
                f"{at}/value",
                "cluster-taint-value",
                f"the value {shown(value)} must be a label value",
                LABEL_VALUE,
            )
        pair = (key, text(taint, "effect"))
        if pair in seen:
            yield Violation(
                at,
                "cluster-taint-unique",
                f"the taint {shown(key)} must be given once for each effect",
                "one taint for each key and effect",
            )
        seen.add(pair)


RULE = "cluster-metadata"
KEY = "letters, digits, '-', '_' and '.', with a DNS name and a slash before them or without"
MOST_ANNOTATIONS = 256 * 1024  # apimachinery TotalAnnotationSizeLimitB
OWNER = ("apiVersion", "kind", "name", "uid")


def refuse_cluster_metadata(body: Body) -> Iterator[Violation]:
    """Yield what is wrong with the metadata of a cluster, but for its name."""
    metadata = mapping(body, "metadata")
    yield from _labels(metadata)
    yield from _annotations(metadata)
    yield from _owners(metadata)
    for place, name in enumerate(strings(metadata, "finalizers")):
        if not is_label_key(name):
            message = f"the finalizer {shown(name)} must be a qualified name"
            yield Violation(f"/metadata/finalizers/{place}", RULE, message, KEY)


def _labels(metadata: Body) -> Iterator[Violation]:
    labels = mapping(metadata, "labels")
    for key in labels:
        at, value = pointer_of(["metadata", "labels", key]), text(labels, key)
        if not is_label_key(key):
            yield Violation(at, RULE, f"{shown(key)} must be the key of a label", KEY)
        if not is_label_value(value):
            message = f"{shown(value)} must be the value of a label"
            yield Violation(at, RULE, message, "at most 63 letters, digits, '-', '_' and '.'")


def _annotations(metadata: Body) -> Iterator[Violation]:
    """Yield keys that no annotation has, whose case does not matter, and that there are too many.

    Source: apimachinery `ValidateAnnotations`, `ValidateAnnotationsSize`.
    """
    annotations = mapping(metadata, "annotations")
    for key in annotations:
        if not is_label_key(key.lower()):
            at = pointer_of(["metadata", "annotations", key])
            yield Violation(at, RULE, f"{shown(key)} must be the key of an annotation", KEY)
    parts = (part for key in annotations for part in (key, text(annotations, key)))
    size = sum(len(part.encode()) for part in parts)
    if size > MOST_ANNOTATIONS:
        message = f"annotations must have at most {MOST_ANNOTATIONS} bytes, these have {size}"
        yield Violation("/metadata/annotations", RULE, message, "shorter values")


def _owners(metadata: Body) -> Iterator[Violation]:
    """Yield fields of owners that are empty, and owners that control it beside another.

    Source: apimachinery `ValidateOwnerReferences`.
    """
    owners = bodies(metadata, "ownerReferences")
    for place, owner in enumerate(owners):
        for name in (name for name in OWNER if not text(owner, name)):
            message = f"`{name}` of an owner must not be empty"
            yield Violation(f"/metadata/ownerReferences/{place}/{name}", RULE, message)
    controllers = [i for i, owner in enumerate(owners) if owner.get("controller") is True]
    for place in controllers[1:]:
        message = "only one owner must be the controller"
        at = f"/metadata/ownerReferences/{place}/controller"
        yield Violation(at, RULE, message, "false, or no field")


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)
_NOT_IN_HOSTS = re.compile(r"[\x20%@\\^`{|}]")
_PORT = re.compile(r"(:\d*)?", re.ASCII)
PROXIES = ("http", "https", "socks5")


class _Url:
    """The parts of a URL that the rules ask for; `host` is `""` where there is none."""

    __slots__ = ("fragment", "host", "query", "scheme", "user")

    def __init__(self, address: str) -> None:
        """Read an address.

        Raises:
            ValueError: Go could not read it, either.

        Source: Go net/url `Parse`.
        """
        rest, _, self.fragment = address.partition("#")
        if _CONTROL.search(address) or _BAD_ESCAPE.search(rest.partition("?")[0]):
            raise ValueError
        scheme = _SCHEME.match(rest)
        self.scheme = scheme[1].lower() if scheme else ""
        rest, _, self.query = rest[scheme.end() if scheme else 0 :].partition("?")
        if not scheme and ":" in rest.partition("/")[0]:
            raise ValueError
        self.user, self.host = False, ""
        if rest.startswith("//"):
            authority = rest[2:].partition("/")[0]
            _, at, self.host = authority.rpartition("@")
            self.user = bool(at)
            if not _is_host(self.host):
                raise ValueError


def _is_host(host: str) -> bool:
    """Return whether Go takes a host and its port.

    Source: Go net/url `parseHost`.
    """
    end = host.rfind("]") + 1 if host.startswith("[") else host.rfind(":")
    if host.startswith("[") and not end:
        return False
    name, port = (host[:end], host[end:]) if end >= 0 else (host, "")
    return _PORT.fullmatch(port) is not None and not _NOT_IN_HOSTS.search(name)


def endpoint_fault(address: str) -> str | None:
    """Return what an API server's address must be and is not, `None` if all is well.

    Source: karmada@f8fdd02 pkg/apis/cluster/validation/validation.go `ValidateClusterSpec`.

    >>> endpoint_fault("https://10.0.0.1:6443"), endpoint_fault("10.0.0.1:6443")
    (None, 'must be a URL such as https://10.0.0.1:6443')
    """
    try:
        url = _Url(address)
    except ValueError:
        return "must be a URL such as https://10.0.0.1:6443"
    if not url.host:
        return "must name a host, as https://10.0.0.1:6443 does"
    if url.user or url.query or url.fragment:
        return "must have no user, query or fragment"
    return None


def proxy_fault(address: str) -> str | None:
    """Return what a proxy's address must be and is not, `None` if all is well.

    Source: karmada@f8fdd02 pkg/apis/cluster/validation/validation.go `ValidateClusterProxyURL`.

    >>> proxy_fault("socks5://proxy:1080"), proxy_fault("ftp://proxy")
    (None, 'must be a URL with http, https or socks5')
    """
    try:
        scheme = _Url(address).scheme
    except ValueError:
        scheme = ""
    return None if scheme in PROXIES else "must be a URL with http, https or socks5"


def mutated_cluster(spec: Body) -> Body:
    """Return the spec of a cluster as the API server stores it.

    Unlike upstream: a cluster without resource models gets none. Upstream fills in nine of them
    when a cluster is created and not when it is edited, which a file does not tell apart.
    What is empty is left out, as Go does when it writes a cluster.

    Source: karmada@f8fdd02 pkg/registry/cluster/strategy.go `PrepareForCreate`, `Canonicalize`.
    """
    changed = dict(spec)
    if text(spec, "zone") and not strings(spec, "zones"):
        changed["zones"] = [text(spec, "zone")]
        del changed["zone"]
    models = bodies(spec, "resourceModels")
    if models:
        changed["resourceModels"] = list(standardised(models))
    return {name: one for name, one in changed.items() if one not in ("", [], None)}


def standardised(models: Sequence[Body]) -> tuple[Body, ...]:
    """Return resource models by grade, from nothing to without limit.

    Source: karmada@f8fdd02 pkg/apis/cluster/mutation/mutation.go
    `StandardizeClusterResourceModels`.
    """
    models_by_grade: list[Body] = [{"ranges": None, **model} for model in models]
    ordered = sorted(models_by_grade, key=lambda model: number(model, "grade"))
    if ordered:
        ordered[0] = _with(ordered[0], "min", "0")
        ordered[-1] = _with(ordered[-1], "max", str(MAX_VALUE))
    return tuple(ordered)


def _with(model: Body, bound: str, amount: str) -> Body:
    """Return a grade with one bound of all its ranges."""
    return {**model, "ranges": [{**one, bound: amount} for one in bodies(model, "ranges")] or None}


def models_fault(models: Sequence[Body]) -> str | None:
    """Return the first thing that resource models must be and are not, `None` if all is well.

    One grade goes up to where the next one begins, written the same way: upstream compares texts,
    so `1Gi` is not `1024Mi`.

    Source: karmada@f8fdd02 pkg/apis/cluster/validation/validation.go
    `ValidateClusterResourceModels`.
    """
    before: tuple[Body, ...] | None = None
    grades: set[int] = set()
    for model in standardised(models):
        ranges, grade = bodies(model, "ranges"), number(model, "grade")
        if grade in grades:
            return f"the grade {grade} must be given once"
        grades.add(grade)
        if before is not None and _names(before) != _names(ranges):
            return "each grade must have the same resources in the same order"
        for bounds in ranges:
            if _amount(bounds, "max") <= _amount(bounds, "min"):
                return (
                    f"`max` of {text(bounds, 'name')} must be greater than `min` in grade {grade}"
                )
        pairs = zip(before or (), ranges, strict=False)
        if any(_written(last, "max") != _written(bounds, "min") for last, bounds in pairs):
            return f"grade {grade} must begin where the grade before it ends, written the same way"
        before = ranges
    return None


def _names(ranges: Sequence[Body]) -> list[str]:
    return [text(one, "name") for one in ranges]


def _written(item: Body, name: str) -> str:
    return str(item.get(name, "0"))


def _amount(item: Body, name: str) -> int:
    return parse_quantity(_written(item, name))
