"""Whether a quota takes what the scheduler decided; where it does not, the binding keeps its own.

Upstream this is a webhook that each update of a binding has to pass, and the usage that it adds to
stands in the status of the quota. Here it is summed up from the bindings at the beginning of each
round, and goes on with each binding that the round decides.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.dialects.karmada.api.quota.quota import Quota
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.federatedresourcequota.usage import moved, usage_of
from reconciler.dialects.read_index import Question
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources
from reconciler.schedule.capacity.pod_requests import canonical_amount

DENIED = 'admission webhook "resourcebinding.karmada.io" denied the request: {}'
"""Source: karmada@f8fdd02 artifacts/deploy/webhook-configuration.yaml, in the words that client-go
has for a webhook that refuses.
"""

Refusal = Callable[[str, BindingSpec, BindingSpec], str]
"""Returns why quotas of a namespace refuse that a binding becomes another, `""` if none does."""
QuotasOf = Mapping[str, Sequence[Quota]]
"""Namespace to its quotas, sorted by name."""


def nothing_refused(_namespace: str, _had: BindingSpec, _wants: BindingSpec) -> str:
    """Refuse nothing, as without the gate FederatedQuotaEnforcement."""
    return ""


def by_namespace(quotas: Iterable[Quota]) -> QuotasOf:
    """Return quotas, sorted, by namespace."""
    found: dict[str, list[Quota]] = {}
    for quota in quotas:
        found.setdefault(quota.key.namespace, []).append(quota)
    return found


def quota_question(namespace: str) -> Question:
    """Return what a binding asks that is refused: what there is, and what is used of it."""
    return "quota", namespace


def refusing_always(message: str) -> Refusal:
    """Return what refuses whatever changes what is used, with the same words."""

    def refuse(_namespace: str, had: BindingSpec, wants: BindingSpec) -> str:
        return message if usage_of(had) != usage_of(wants) else ""

    return refuse


@dataclass(slots=True, eq=False)
class QuotaGate:
    """The quotas that are enforced in one round; what is used goes on in place.

    Attributes:
        quotas: By namespace.
        used: Namespace to what its bindings use.
    """

    quotas: QuotasOf
    used: dict[str, Resources] = field(default_factory=dict)

    def refusal(self, namespace: str, had: BindingSpec, wants: BindingSpec) -> str:
        """Return why a change of a binding is refused, `""` if it is taken.

        A change is refused where it moves any resource that a quota tracks, and the sum of any
        resource then stands above its limit: also one that the change lowers, or leaves alone.
        Quotas and resources are asked by name; upstream they come in the order of Go's maps.

        Raises:
            UserError: A request is no quantity.

        Source: karmada@f8fdd02 pkg/webhook/resourcebinding/validating.go
        `validateFederatedResourceQuota`, `processSingleFRQ`, `isAllowed`.
        """
        quotas = self.quotas.get(namespace, ())
        if not quotas:
            return ""
        before, now = usage_of(had), usage_of(wants)
        if before == now:
            return ""
        delta = moved(now, before, {})
        used = moved(self.used.get(namespace, {}), before, now)
        refusals = (
            _exceeded(one, used) for one in quotas if not delta.keys().isdisjoint(one.overall)
        )
        return next(filter(None, refusals), "")

    def take(self, namespace: str, had: BindingSpec, has: BindingSpec) -> None:
        """Go on with a binding as it was decided."""
        before, now = usage_of(had), usage_of(has)
        if before != now:
            self.used[namespace] = moved(self.used.get(namespace, {}), before, now)


def _exceeded(quota: Quota, used: Resources) -> str:
    """Return which limit of a quota a sum exceeds, `""` if none."""
    for name in sorted(quota.overall):
        total = Quantity(used.get(name, 0))
        if total > quota.overall[name]:
            found = (
                f"FederatedResourceQuota({quota.key.namespace}/{quota.key.name}) exceeded for "
                f"resource {name}: requested sum {canonical_amount(name, total)}, "
                f"limit {quota.limits[name]}."
            )
            return DENIED.format(found)
    return ""
