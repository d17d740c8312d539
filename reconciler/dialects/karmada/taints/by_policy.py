"""What ClusterTaintPolicies put on a cluster, and take away, by the conditions that it has."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reconciler.dialects.karmada.api.groups import POLICY_GROUP
from reconciler.dialects.karmada.api.placement import ClusterAffinity, decode_affinity
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, strings, text

TAINT_POLICY = (POLICY_GROUP, "ClusterTaintPolicy")


@dataclass(frozen=True, slots=True)
class ConditionMatch:
    """Which statuses of a type of condition are meant."""

    type: str
    operator: str
    statuses: tuple[str, ...]

    def holds(self, conditions: Sequence[Body]) -> bool:
        """Return whether a cluster has a condition of the type in a status that is meant.

        Of several conditions of one type any will do for In, and for NotIn the last one decides.
        A type that the cluster lacks never matches, nor does an operator that there is not.
        """
        found = [text(one, "status") for one in conditions if text(one, "type") == self.type]
        if not found:
            return False
        if self.operator == "In":
            return any(status in self.statuses for status in found)
        return self.operator == "NotIn" and found[-1] not in self.statuses


@dataclass(frozen=True, slots=True)
class TaintPolicy:
    """A policy.

    Attributes:
        name: Of it.
        target: The clusters that it is for, `None` for all.
        taints: As written, without moments.
        add_on: All of these must hold for the taints to come; none means that they never do.
        remove_on: The same for them to go.
    """

    name: str
    target: ClusterAffinity | None
    taints: tuple[Body, ...]
    add_on: tuple[ConditionMatch, ...]
    remove_on: tuple[ConditionMatch, ...]


def decode_taint_policy(body: Body) -> TaintPolicy:
    """Return a policy.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/cluster_taint_policy_types.go.
    """
    spec = mapping(body, "spec")
    target = mapping_or_none(spec, "targetClusters")
    return TaintPolicy(
        name=text(mapping(body, "metadata"), "name"),
        target=None if target is None else decode_affinity(target),
        taints=tuple(map(_taint, bodies(spec, "taints"))),
        add_on=tuple(map(_match, bodies(spec, "addOnConditions"))),
        remove_on=tuple(map(_match, bodies(spec, "removeOnConditions"))),
    )


def taints_by_policies(
    taints: Sequence[Body],
    conditions: Sequence[Body],
    policies: Sequence[TaintPolicy],
    targets: Callable[[TaintPolicy], bool],
    added: Body,
) -> tuple[Body, ...]:
    """Return the taints of a cluster once each policy had its say; later ones see those of earlier.

    One that is there already, by key and effect, stays as it is; one that goes may be anybody's.
    Nothing is undone when a condition ceases, or a policy changes or goes.

    Args:
        taints: That it has.
        conditions: Of its status.
        policies: In their order.
        targets: Whether a policy is for this cluster.
        added: What a new taint has besides what its policy says.

    Source: karmada@f8fdd02 pkg/controllers/taint/clustertaintpolicy_controller.go.
    """
    found = list(taints)
    for policy in filter(targets, policies):
        if _all_hold(policy.add_on, conditions):
            for taint in policy.taints:
                if all(_pair(one) != _pair(taint) for one in found):
                    found.append({**taint, **added})
        if _all_hold(policy.remove_on, conditions):
            for taint in policy.taints:
                gone = next((n for n, one in enumerate(found) if _pair(one) == _pair(taint)), None)
                if gone is not None:
                    del found[gone]
    return tuple(found)


def _all_hold(matches: Sequence[ConditionMatch], conditions: Sequence[Body]) -> bool:
    return bool(matches) and all(one.holds(conditions) for one in matches)


def _pair(taint: Body) -> tuple[str, str]:
    return text(taint, "key"), text(taint, "effect")


def _taint(body: Body) -> Body:
    value = text(body, "value")
    named = {"key": text(body, "key"), "effect": text(body, "effect")}
    return {**named, **({"value": value} if value else {})}


def _match(body: Body) -> ConditionMatch:
    return ConditionMatch(
        text(body, "conditionType"), text(body, "operator"), strings(body, "statusValues")
    )
