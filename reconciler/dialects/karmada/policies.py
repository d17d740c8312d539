"""Which policy claims a workload: matching by selector, election, and claims that stick."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from reconciler.manifests.admission import digest
from reconciler.manifests.suspension import is_suspended
from reconciler.model.fields import bodies, mapping, mapping_or_none, number, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import LabelSelector, labels_of, matches
from reconciler.model.selectors import decode_label_selector
from reconciler.model.world import Body, Manifest

GROUP = "policy.karmada.io"
NAMESPACED = "PropagationPolicy"
CLUSTER_WIDE = "ClusterPropagationPolicy"
CLAIMED_BY = "resourcetemplate.karmada.io/claimed-by"


class Implicit(IntEnum):
    """How closely a selector names a workload; a closer match wins.

    Source: karmada@f8fdd02 pkg/util/selector.go `ResourceSelectorPriority`.
    """

    NO_MATCH = 0
    ALL = 1
    LABELS = 2
    NAME = 3


@dataclass(frozen=True, slots=True)
class ResourceSelector:
    """What a policy selects. Empty fields select anything."""

    api_version: str
    kind: str
    namespace: str
    name: str
    labels: LabelSelector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy as far as claims go; `body` is the whole of it, for its binding.

    `preempts` says that it may take workloads over from others. `waits_for` are the override
    policies that it depends on and that are not there.
    """

    key: ObjectKey
    selectors: tuple[ResourceSelector, ...]
    priority: int
    deleting: bool
    preempts: bool
    waits_for: tuple[str, ...]
    lazy: bool
    suspended: bool
    body: Body


@dataclass(frozen=True, slots=True)
class Template:
    """A workload to be placed, as far as policies ask."""

    key: ObjectKey
    api_version: str
    labels: Mapping[str, str]
    body: Body

    @property
    def claimed_elsewhere(self) -> bool:
        """Whether another controller owns it, so that no policy may claim it."""
        return bool(self.labels.get(CLAIMED_BY))

    @property
    def digest(self) -> str:
        """Digest of all that makes it another workload: everything but its status.

        Source: karmada@f8fdd02 pkg/util/eventfilter/eventfilter.go `SpecificationChanged`.
        """
        return digest({name: value for name, value in self.body.items() if name != "status"})

    @property
    def suspended(self) -> bool:
        """Whether a person suspended its scheduling."""
        return is_suspended(self.body)


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies, indexed by what they select."""

    by_key: Mapping[ObjectKey, Policy]
    by_kind: Mapping[tuple[str, str], tuple[Policy, ...]] = field(repr=False)

    def claim(
        self, template: Template, present: ObjectKey | None, *, preempting: bool = False
    ) -> Policy | None:
        """Return the policy that a workload belongs to, `None` if no one takes it.

        First every policy has its say, then the workload: so a pass ends where upstream's events
        end, in whatever order they come.

        Args:
            template: The workload.
            present: Its policy so far, `None` if it has none.
            preempting: Whether policies may preempt others at all.
        """
        return self.elect(template, self.release(template, present, preempting=preempting))

    def release(
        self, template: Template, present: ObjectKey | None, *, preempting: bool
    ) -> ObjectKey | None:
        """Return whose a workload is once every policy was heard, `None` if nobody's.

        A policy lets go of what it no longer selects and, when it is being deleted, of everything;
        one that may preempt takes what another one holds.

        Source: karmada@f8fdd02 pkg/detector/detector.go `HandlePropagationPolicyCreationOrUpdate`,
        `HandlePropagationPolicyDeletion`.
        """
        holder = self.by_key.get(present) if present is not None else None
        if holder is None or holder.deleting or not implicit_priority(holder, template):
            return None
        if preempting:
            own, wide = self._candidates(template)
            challengers = [p for p in (*own, *wide) if _may_preempt(p, holder, template)]
            holder = _strongest(challengers) or holder
        return holder.key

    def elect(self, template: Template, present: ObjectKey | None) -> Policy | None:
        """Return whose a workload is when it comes up itself, `None` if nobody's.

        A claim sticks while its policy exists; a better policy that appears later does not take
        over. A new claim goes to the PropagationPolicies of the workload's namespace, and only if
        none of these matches to a ClusterPropagationPolicy, whatever their priorities. A winner
        that waits for override policies claims nothing yet, nor does anybody in its place.

        Source: karmada@f8fdd02 pkg/detector/detector.go `propagateResource`, and
        pkg/detector/policy.go `getHighestPriorityPropagationPolicy`.
        """
        if template.claimed_elsewhere:
            return None
        if present is not None and present in self.by_key:
            return self.by_key[present]
        own, wide = self._candidates(template)
        winner = _best(own, template) or _best(wide, template)
        return None if winner is not None and winner.waits_for else winner

    def _candidates(self, template: Template) -> tuple[list[Policy], list[Policy]]:
        """Return the policies of the workload's namespace, and those of the whole repository."""
        known = self.by_kind.get((template.api_version, template.key.kind), ())
        local = template.key.namespace
        own = [policy for policy in known if local and policy.key.namespace == local]
        return own, [policy for policy in known if policy.key.kind == CLUSTER_WIDE]


def _may_preempt(policy: Policy, holder: Policy, template: Template) -> bool:
    """Say whether a policy may take a workload from its present one.

    It must name the workload, and have a strictly greater priority; a PropagationPolicy takes from
    a ClusterPropagationPolicy in any case, and never the other way round.

    Source: karmada@f8fdd02 pkg/detector/preemption.go `preemptionEnabled`,
    `preemptPropagationPolicy`, `preemptClusterPropagationPolicy`.
    """
    if not policy.preempts or policy.deleting or policy.waits_for or policy.key == holder.key:
        return False
    if implicit_priority(policy, template) is not Implicit.NAME:
        return False
    if policy.key.kind != holder.key.kind:
        return policy.key.kind == NAMESPACED
    return policy.priority > holder.priority


def _strongest(challengers: Iterable[Policy]) -> Policy | None:
    """Return who preempts: a PropagationPolicy first, then by priority; ties by the lesser name.

    Unlike upstream: there the one wins whose event comes first.
    """
    return min(
        challengers, key=lambda p: (not p.key.namespace, -p.priority, p.key.name), default=None
    )


def _best(candidates: Iterable[Policy], template: Template) -> Policy | None:
    """Return the winner: greater priority, then the closer match, then the lesser name."""
    ranked = [
        ((-policy.priority, -closeness, policy.key.name), policy)
        for policy in candidates
        if not policy.deleting and (closeness := implicit_priority(policy, template))
    ]
    return min(ranked, key=lambda entry: entry[0])[1] if ranked else None


def implicit_priority(policy: Policy, template: Template) -> Implicit:
    """Return how closely the best selector of a policy names a workload."""
    return max(
        (_closeness(selector, template) for selector in policy.selectors),
        default=Implicit.NO_MATCH,
    )


def _closeness(selector: ResourceSelector, template: Template) -> Implicit:
    """Judge one selector; a name makes its label selector irrelevant."""
    if (selector.api_version, selector.kind) != (template.api_version, template.key.kind):
        return Implicit.NO_MATCH
    if selector.namespace and selector.namespace != template.key.namespace:
        return Implicit.NO_MATCH
    if selector.name:
        return Implicit.NAME if selector.name == template.key.name else Implicit.NO_MATCH
    if selector.labels is None:
        return Implicit.ALL
    return Implicit.LABELS if matches(selector.labels, template.labels) else Implicit.NO_MATCH


def decode_policies(manifests: Iterable[Manifest]) -> Policies:
    """Index the policies among the manifests."""
    known = {manifest.key: manifest for manifest in manifests}
    by_key = {}
    by_kind: dict[tuple[str, str], dict[ObjectKey, Policy]] = defaultdict(dict)
    for key, manifest in known.items():
        if key.group != GROUP or key.kind not in (NAMESPACED, CLUSTER_WIDE):
            continue
        policy = decode_policy(manifest, known)
        by_key[key] = policy
        for selector in policy.selectors:
            by_kind[selector.api_version, selector.kind][key] = policy
    return Policies(by_key, {kind: tuple(found.values()) for kind, found in by_kind.items()})


def decode_policy(manifest: Manifest, known: Container[ObjectKey]) -> Policy:
    """Decode one policy that the schema and admission accepted.

    Args:
        manifest: The policy.
        known: All objects of the repository, among them the override policies.
    """
    spec = mapping(manifest.body, "spec")
    namespace = manifest.key.namespace
    override = "OverridePolicy" if namespace else "ClusterOverridePolicy"
    return Policy(
        key=manifest.key,
        selectors=tuple(
            decode_selector(item, manifest.key) for item in bodies(spec, "resourceSelectors")
        ),
        priority=number(spec, "priority"),
        deleting=bool(text(mapping(manifest.body, "metadata"), "deletionTimestamp")),
        preempts=text(spec, "preemption") == "Always",
        waits_for=tuple(
            name
            for name in strings(spec, "dependentOverrides")
            if ObjectKey(GROUP, override, namespace, name) not in known
        ),
        lazy=text(spec, "activationPreference") == "Lazy",
        suspended=is_suspended(manifest.body),
        body=manifest.body,
    )


def decode_selector(body: Body, policy: ObjectKey) -> ResourceSelector:
    """Decode one resource selector.

    A PropagationPolicy selects in its own namespace where the selector names none.

    Source: karmada@f8fdd02 pkg/webhook/propagationpolicy/mutating.go `Handle`.
    """
    selector = mapping_or_none(body, "labelSelector")
    return ResourceSelector(
        api_version=text(body, "apiVersion"),
        kind=text(body, "kind"),
        namespace=text(body, "namespace") or policy.namespace,
        name=text(body, "name"),
        labels=None if selector is None else decode_label_selector(selector),
    )


def template_of(manifest: Manifest) -> Template:
    """Return a manifest as policies see it; labels that are no strings are passed over."""
    return Template(
        key=manifest.key,
        api_version=str(manifest.body["apiVersion"]),
        labels=labels_of(manifest.body),
        body=manifest.body,
    )
