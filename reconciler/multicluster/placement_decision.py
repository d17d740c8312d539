"""PlacementDecision: the clusters that any scheduler has chosen, in slices that consumers watch.

A slice names up to 100 ClusterProfiles. Flux and Argo CD apply slices one by one, in any order, so
a consumer may see some as they were and others as they are. Three rules keep every cluster that
stays chosen in sight all the while: it never changes its slice, newcomers fill the first slice with
room by name, and slices are never renumbered or packed anew. An empty slice goes, unless it is the
last: what is decided is then that there is no cluster.

All slices of a decision have names and a label that follow from what it is about, and from nothing
else, so what the last pass wrote is found without any index.

Source: cluster-inventory-api@8375ac2 apis/v1alpha1/placementdecision_types.go, and its adoption
guide; the rules of churn are ours.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import count, islice
from operator import attrgetter
from typing import NamedTuple

from reconciler.manifests.columns import FILE, ColumnTable, Row, label, printed
from reconciler.manifests.schemas.violations import Violation
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import ApiKind, Kind, Writer
from reconciler.model.labels import LabelSelector, decode_label_selector, refusal_of
from reconciler.model.records import dataclass
from reconciler.model.settings import Settings
from reconciler.model.world import World
from reconciler.multicluster.cluster_profile import GROUP

PLACEMENT_DECISION: Kind = (GROUP, "PlacementDecision")
PLACEMENT_DECISION_KIND = ApiKind(
    group=PLACEMENT_DECISION[0],
    kind=PLACEMENT_DECISION[1],
    namespaced=True,
    writer=Writer.OURS,
    shares_group=True,
)

SLICE_LIMIT = 100  # cluster-inventory-api@8375ac2, maxItems of decisions

DECISION_KEY = f"{GROUP}/decision-key"
DECISION_INDEX = f"{GROUP}/decision-index"
PLACEMENT_KEY = f"{GROUP}/placement-key"
ABOUT = "reconciler.dev/placement"
"""Annotation: the whole key of what is decided about."""
DECIDED_BY = "reconciler.dev/decision"
"""Annotation: the object whose decision it is."""
REPLICAS = "reconciler.dev/replicas"
"""Annotation: how many replicas clusters have, which upstream has no word for."""

Slices = Mapping[int, Sequence[str]]
"""Index to the names of clusters, ascending."""


def assign(
    present: Slices, chosen: Collection[str], limit: int = SLICE_LIMIT
) -> dict[int, tuple[str, ...]]:
    """Return which cluster is in which slice, given where they are.

    Args:
        present: The slices that the last pass wrote; a name in two of them counts in the first.
        chosen: The clusters that are to be named.
        limit: How many a slice holds.

    Returns:
        By index, ascending; one slice at least, which may be empty.

    >>> assign({0: ("a", "b"), 1: ("c",)}, {"b", "c", "d"})
    {0: ('b', 'd'), 1: ('c',)}
    >>> assign({0: ("a",), 2: ("b",)}, {"b"}), assign({3: ("a",)}, ())
    ({2: ('b',)}, {3: ()})
    """
    wanted, kept = set(chosen), dict[int, list[str]]()
    for index in sorted(present):
        there = dict.fromkeys(name for name in present[index] if name in wanted)
        kept[index] = list(there)[:limit]
        wanted.difference_update(kept[index])
    left = iter(sorted(wanted))
    for listed in kept.values():
        listed.extend(islice(left, limit - len(listed)))
    unused = (index for index in count() if index not in kept)
    while names := list(islice(left, limit)):
        kept[next(unused)] = names
    full = {index: tuple(sorted(names)) for index, names in sorted(kept.items()) if names}
    return full or {min(present, default=0): ()}


class ChosenCluster(NamedTuple):
    """A cluster that has what is decided; `replicas` is `None` where none are counted."""

    name: str
    replicas: int | None
    reason: str


class DecisionOwner(NamedTuple):
    """Whose decision it is, and what it is about: the same object unless that is a binding."""

    decided: ObjectKey
    about: ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPublishing:
    """How decisions are published.

    Attributes:
        namespace: In which the slices are.
        scheduler: Who is told to have decided.
        selectors: By name of an API which of its decisions; those of others are not published.
        replicas: Whether each cluster's replicas are told.
    """

    namespace: str
    scheduler: str
    selectors: Mapping[str, LabelSelector]
    replicas: bool


def decode_publishing(settings: Settings, apis: Iterable[str]) -> DecisionPublishing | None:
    """Return how decisions are published, `None` if they are not.

    Args:
        settings: Of the repository, validated.
        apis: The names of all APIs, which are published where none is named.
    """
    body = fields.mapping_or_none(settings.options.get("decisions", {}), "publish")
    if body is None:
        return None
    named = fields.mapping_or_none(body, "for")
    chosen = {api: {} for api in apis} if named is None else named
    return DecisionPublishing(
        namespace=fields.text(body, "namespace"),
        scheduler=fields.text(body, "scheduler") or "reconciler",
        selectors={
            api: decode_label_selector(fields.mapping(fields.mapping(chosen, api), "labelSelector"))
            for api in chosen
        },
        replicas=body.get("replicas") is True,
    )


def refuse_publishing(body: Body) -> Iterator[Violation]:
    """Yield what is wrong with the selectors of a configuration that publishes decisions."""
    decisions = fields.mapping(fields.mapping(body, "spec"), "decisions")
    chosen = fields.mapping(fields.mapping(decisions, "publish"), "for")
    for api in chosen:
        written = fields.mapping(fields.mapping(chosen, api), "labelSelector")
        if refusal := refusal_of(decode_label_selector(written)):
            pointer = f"/spec/decisions/publish/for/{api}/labelSelector"
            yield Violation(pointer, "publishing-selector", refusal)


_FOREIGN = re.compile(r"[^a-z0-9]+")
_TOKEN, _STEM = 24, 34  # with the dashes and an index of three digits a label of at most 63


def whole_key(key: ObjectKey) -> str:
    """Return what a decision is about, as kubectl would name it.

    >>> whole_key(ObjectKey("apps", "Deployment", "shop", "web"))
    'deployment.apps/shop/web'
    """
    kind = f"{key.kind.lower()}.{key.group}" if key.group else key.kind.lower()
    return "/".join(filter(None, (kind, key.namespace, key.name)))


def key_label(key: ObjectKey) -> str:
    """Return a label value and part of a name that stands for one object and no other.

    >>> key_label(ObjectKey("apps", "Deployment", "shop", "web"))
    'web-7957c49a181cde18ab4a6fdc'
    """
    token = sha256("\0".join(key[:4]).encode()).hexdigest()[:_TOKEN]
    stem = _FOREIGN.sub("-", key.name.lower())[:_STEM].strip("-")
    return f"{stem}-{token}" if stem else token


def slice_key(namespace: str, label: str, index: int) -> ObjectKey:
    """Return the key of a slice of the decision that a label stands for."""
    return ObjectKey(*PLACEMENT_DECISION, namespace, f"{label}-{index}")


def slices_of(world: World, namespace: str, label: str) -> Mapping[int, ObjectKey]:
    """Return the slices of a decision that the last pass wrote, by index."""
    written = world.outputs_of_kind(PLACEMENT_DECISION)
    if not written:
        return {}
    stem = f"{label}-"
    at = bisect_left(
        written, ObjectKey(*PLACEMENT_DECISION, namespace, stem), key=attrgetter("key")
    )
    slices = {}
    for one in islice(written, at, None):
        if one.key.namespace != namespace or not one.key.name.startswith(stem):
            break
        index = one.key.name.removeprefix(stem)
        if index.isascii() and index.isdecimal():
            slices[int(index)] = one.key
    return slices


def clusters_of(body: Body) -> Iterator[str]:
    """Yield the clusters that a slice names; one is named like its profile."""
    for decision in fields.bodies(body, "decisions"):
        yield fields.text(fields.mapping(decision, "clusterProfileRef"), "name")


def is_slice_of(body: Body, settings: DecisionPublishing) -> bool:
    """Return whether an object of a hub is a slice that passes published."""
    is_marked = DECIDED_BY in fields.at(body, "metadata", "annotations")
    return is_marked and fields.text(body, "schedulerName") == settings.scheduler


def encode_slices(
    owner: DecisionOwner,
    chosen: Iterable[ChosenCluster],
    present: Slices,
    settings: DecisionPublishing,
    profiles: Mapping[str, str],
) -> dict[ObjectKey, Body]:
    """Return the slices of a decision.

    Args:
        owner: Whose it is.
        chosen: Its clusters, each once.
        present: Where they are.
        settings: Of the repository.
        profiles: Cluster to the namespace of its profile, where it is not that of the slices.
    """
    by_name = {one.name: one for one in chosen}
    indexed = assign(present, by_name)
    alike = owner.decided == owner.about
    label, decided = key_label(owner.decided), whole_key(owner.decided)
    about_label = label if alike else key_label(owner.about)
    about = decided if alike else whole_key(owner.about)
    slices: dict[ObjectKey, Body] = {}
    for index, names in indexed.items():
        key = slice_key(settings.namespace, label, index)
        labels = {DECISION_KEY: label}
        if len(indexed) > 1:
            labels[DECISION_INDEX] = str(index)
        labels[PLACEMENT_KEY] = about_label
        notes = {DECIDED_BY: decided, ABOUT: about}
        if settings.replicas:
            counts = ((name, by_name[name].replicas) for name in names)
            counts_text = ",".join(
                f"{name}={number}" for name, number in counts if number is not None
            )
            notes |= {REPLICAS: counts_text} if counts_text else {}
        slices[key] = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": PLACEMENT_DECISION[1],
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "labels": labels,
                "annotations": notes,
            },
            "schedulerName": settings.scheduler,
            "decisions": [
                {
                    "clusterProfileRef": (
                        {"name": name, "namespace": profiles[name]}
                        if name in profiles
                        else {"name": name}
                    ),
                    "reason": by_name[name].reason,
                }
                for name in names
            ],
        }
    return slices


def _listed(row: Row) -> str:
    return ", ".join(clusters_of(row.body)) or "<none>"


COLUMNS: ColumnTable = {
    PLACEMENT_DECISION: (
        (
            ("PLACEMENT", printed(r".metadata.annotations.reconciler\.dev/placement")),
            ("INDEX", label(DECISION_INDEX)),
            ("SCHEDULER", printed(".schedulerName")),
            ("CLUSTERS", _listed),
        ),
        (FILE,),
    )
}
"""What tables show."""
