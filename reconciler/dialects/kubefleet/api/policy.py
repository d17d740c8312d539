"""PlacementPolicy: which clusters a placement wants, decoded from its snapshot."""

from dataclasses import dataclass

from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.labels import LabelSelector
from reconciler.model.selectors import decode_label_selector
from reconciler.model.taints import Toleration, decode_toleration

PICK_ALL = "PickAll"
PICK_N = "PickN"
PICK_FIXED = "PickFixed"
DEFAULT_MAX_SKEW = 1  # kubefleet@e160c1c pkg/utils/defaulter/placement.go DefaultMaxSkewValue
SCHEDULE_ANYWAY = "ScheduleAnyway"

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class PropertyRequirement:
    """An expression on one property; upstream accepts exactly one value."""

    name: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PropertySorter:
    """Rank clusters by a property, `Ascending` or `Descending`."""

    name: str
    sort_order: str


@dataclass(frozen=True, slots=True)
class SelectorTerm:
    """Clusters by labels and properties. `labels` of `None` fits all."""

    labels: LabelSelector | None = None
    properties: tuple[PropertyRequirement, ...] = ()
    sorter: PropertySorter | None = None


@dataclass(frozen=True, slots=True)
class Preference:
    """A term that earns a cluster up to `weight`, which may be negative."""

    weight: int
    term: SelectorTerm


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """How evenly clusters are picked over the values of a label; `None` counts as 1."""

    topology_key: str
    max_skew: int | None
    when_unsatisfiable: str

    @property
    def is_soft(self) -> bool:
        """Whether a violation only costs score."""
        return self.when_unsatisfiable == SCHEDULE_ANYWAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a placement wants; equal policies are equal questions. Absent lists are empty."""

    placement_type: str = PICK_ALL
    cluster_names: tuple[str, ...] = ()
    required: tuple[SelectorTerm, ...] = ()
    preferred: tuple[Preference, ...] = ()
    constraints: tuple[SpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


def decode_policy(body: Body | None) -> Policy:
    """Return the policy that a snapshot holds; none at all means PickAll.

    Args:
        body: `spec.policy` as it stands in the snapshot, where defaults were applied already.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `PlacementPolicy`.
    """
    if body is None:
        return Policy()
    affinity = fields.mapping(fields.mapping(body, "affinity"), "clusterAffinity")
    terms = fields.bodies(fields.mapping(affinity, REQUIRED), "clusterSelectorTerms")
    return Policy(
        placement_type=fields.text(body, "placementType"),
        cluster_names=fields.strings(body, "clusterNames"),
        required=tuple(map(_term, terms)),
        preferred=tuple(map(_preference, fields.bodies(affinity, PREFERRED))),
        constraints=tuple(map(_constraint, fields.bodies(body, "topologySpreadConstraints"))),
        tolerations=tuple(map(decode_toleration, fields.bodies(body, "tolerations"))),
    )


def _term(body: Body) -> SelectorTerm:
    labels = fields.mapping_or_none(body, "labelSelector")
    expressions = fields.bodies(fields.mapping(body, "propertySelector"), "matchExpressions")
    sorter = fields.mapping_or_none(body, "propertySorter")
    return SelectorTerm(
        labels=None if labels is None else decode_label_selector(labels),
        properties=tuple(
            PropertyRequirement(
                name=fields.text(item, "name"),
                operator=fields.text(item, "operator"),
                values=fields.strings(item, "values"),
            )
            for item in expressions
        ),
        sorter=None
        if sorter is None
        else PropertySorter(fields.text(sorter, "name"), fields.text(sorter, "sortOrder")),
    )


def _preference(body: Body) -> Preference:
    return Preference(fields.number(body, "weight"), _term(fields.mapping(body, "preference")))


def _constraint(body: Body) -> SpreadConstraint:
    return SpreadConstraint(
        topology_key=fields.text(body, "topologyKey"),
        max_skew=fields.number_or_none(body, "maxSkew"),
        when_unsatisfiable=fields.text(body, "whenUnsatisfiable"),
    )
