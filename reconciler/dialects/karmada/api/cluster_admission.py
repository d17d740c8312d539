"""What Karmada's API server refuses of a Cluster, each rule said in one sentence."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.cluster_addresses import endpoint_fault, proxy_fault
from reconciler.dialects.karmada.api.cluster_models import models_fault
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.message_text import shown

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
        known = ", ".join(SYNC_MODES)
        message = f"the mode {shown(mode)} must be one of {known}"
        yield Violation("/spec/syncMode", "cluster-sync-mode", message, known)


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
