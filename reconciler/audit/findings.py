"""What a check finds: a fault and its severity, under the stable id of a rule.

Each rule has one line here that says what it asks for; `docs/rules/` has the rest.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from reconciler.model.records import dataclass
from reconciler.model.world import Fault


class Severity(StrEnum):
    """How much a finding matters: an error never takes effect, a warning takes another one."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A fault and how much it matters; ordered by place."""

    fault: Fault
    severity: Severity


def finding_of(fault: Fault) -> Finding:
    """Return a fault with the severity of its rule.

    Severity belongs to the rule, not to the place that finds it: so a page of the documentation
    says it once, and a person who reads two reports never finds two answers.
    """
    return Finding(fault, Severity.WARNING if fault.rule in WARNINGS else Severity.ERROR)


def fault_line(fault: Fault) -> str:
    """Return a fault in one line: where, what, and what would be right."""
    where = f"{fault.path}:{fault.line}:{fault.column}" if fault.line else fault.path
    expected = f" (expected: {fault.expected})" if fault.expected else ""
    return f"{where}: {fault.message}{expected}"


def count(findings: Iterable[Finding]) -> str:
    """Return how many findings there are, in words.

    >>> count([])
    '0 faults'
    """
    severities = [finding.severity for finding in findings]
    errors, warnings = severities.count(Severity.ERROR), severities.count(Severity.WARNING)
    parts = [_plural(number, name) for number, name in ((errors, "fault"), (warnings, "warning"))]
    return ", ".join(part for part in parts if not part.startswith("0 ")) or "0 faults"


def _plural(number: int, name: str) -> str:
    """Return a number and what it counts."""
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


HELP_BASE = "https://reconciler.dev/docs/rules/"
"""Where the pages of `docs/rules/` are published; only a name here, nothing is fetched from it."""

ERRORS: Mapping[str, str] = {
    "binding-name": "A workload's binding must have a name of its own",
    "binding-unreadable": "A binding must be readable",
    "budget-exclusive": "A disruption budget must have one limit",
    "budget-limit": "A limit of a disruption budget must be a number or a percentage",
    "budget-placement": "A limit of a disruption budget must be one that its placement knows",
    "cluster-address": "Addresses of a Karmada cluster must be URLs",
    "cluster-location": "Provider, region and zones of a Karmada cluster must be label values",
    "cluster-metadata": "What a Karmada cluster has beside its spec must be well-formed",
    "cluster-models": "Resource models of a Karmada cluster must follow each other without gaps",
    "cluster-name": "The name of a cluster must fit into a label",
    "cluster-report-gone": "A cluster that was reported must go on being reported",
    "cluster-sync-mode": "A Karmada cluster must be pushed to, or pull",
    "cluster-taint-key": "The key of a cluster's taint must be a label key",
    "cluster-taint-unique": "A cluster must not have a taint twice",
    "cluster-taint-value": "The value of a cluster's taint must be a label value",
    "cluster-unreadable": "Amounts and moments of a cluster must be readable",
    "cluster-zones": "A Karmada cluster must have zone or zones",
    "configuration-path": "The configuration must stand in reconciler.yaml at the root",
    "delivery-conflict": "On a cluster each object must come from one decision",
    "delivery-not-rendered": "What a cluster gets must be possible to render",
    "delivery-path": "Delivery must have folders of its own",
    "delivery-pruning-held": "Delivered files must not go unless a decision takes them away",
    "delivery-same-object": "Two files of a cluster must not have one object",
    "eviction-immutable": "What an eviction names must stay what it was",
    "eviction-placement": "An eviction must be from a placement that chooses its clusters",
    "failover-state": "What a workload takes along must be found where it fails",
    "feedback-kind": "A cluster reports workloads and itself",
    "feedback-namespace": "What is reported of a cluster must stand in its folder",
    "feedback-path": "What a cluster reports must stand in a folder of that cluster",
    "file-link": "A link must not take the place of a manifest",
    "file-name": "The path of a manifest must be printable",
    "file-unrecognized": "A file that held manifests must not turn into something else",
    "file-vanished": "A manifest must not vanish beside a file that cannot be understood",
    "freeze-schedule": "The schedule of a freeze must be a cron expression that comes true",
    "identity-api-version": "apiVersion must be VERSION or GROUP/VERSION",
    "identity-duplicate": "An object must be written once",
    "identity-kind": "kind must be a kind in upper camel case",
    "identity-name": "An object must have a name that Kubernetes takes",
    "identity-namespace": "A namespace must be a DNS label",
    "internal-error": "Whatever a file holds, the reconciler must be able to deal with it",
    "kubefleet-unexpected": "A placement of KubeFleet must be one that can be scheduled",
    "inventory-switch-braked": "An API must not lose the clusters of others by its first own one",
    "list-items": "The items of a List must be objects",
    "list-key": "An item of a list must be told from the others by its keys",
    "loss-braked": "An edit must not take most of what runs, unless that is allowed",
    "oscillates": "Decisions must come to rest",
    "output-unreadable": "A file below the output root must be as a pass wrote it",
    "override-annotation": "An override must set annotations that an object can have",
    "override-clusters": "An override must select its clusters by labels",
    "override-exclusive": "An override policy must say everything in its rules, if it has any",
    "override-label": "An override must set labels that an object can have",
    "override-many": "There must be at most 100 overrides of a kind",
    "override-path": "An override must lead to what a person may change",
    "override-pointer": "A path in an override must begin with /",
    "override-result": "An override must leave a workload that clusters take",
    "override-rule": "A rule of an override must change resources or take them away",
    "override-scope": "An override of the cluster must be for placements of the cluster",
    "override-selector": "An override must name each resource once",
    "override-taken": "A resource must be selected by one override",
    "override-text": "An override inside a text must say what the text holds",
    "override-value": "A change must have a value, unless it removes",
    "owned-kind": "Kinds that the reconciler writes must not be written by people",
    "placement-immutable": "The type of a placement's policy must stay what it was",
    "placement-labels": "A label selector of a placement's affinity must be usable",
    "placement-name": "The name of a placement must fit into a label",
    "placement-names-unique": "PickFixed must name each cluster once",
    "placement-names-valid": "PickFixed must name clusters by valid names",
    "placement-namespace-name": "A namespace whose resources are selected must be selected by name",
    "placement-namespace-single": "A namespace whose resources are selected must be the only one",
    "placement-number": "The number of clusters must be given where it is needed, 0 or more",
    "placement-policy-field": "A placement's policy must have the fields of its type only",
    "placement-preferred-ignored": "Preferred terms must not stand in a PickAll placement",
    "placement-preferred-selector": "A preferred term must sort by properties, not select by them",
    "placement-property-consistent": "Expressions on one property must leave a value",
    "placement-property-name": "A property must be named by a qualified name",
    "placement-property-operator": "A property must be compared by a known operator",
    "placement-property-quantity": "A property must be compared with a quantity",
    "placement-property-resource": "A resource property must name a capacity and a resource",
    "placement-property-values": "A property must be compared with exactly one value",
    "placement-report-destination": "A mirrored status must have a destination",
    "placement-reporting-scope": "NamespaceAccessible must go with exactly one Namespace",
    "placement-required-sorter": "A required term must select by properties, not sort by them",
    "placement-selection": "What a placement selects must be selectable, and once",
    "placement-selector-exclusive": "A selector must have a name or labels, not both",
    "placement-selector-labels": "A label selector of resources must be usable",
    "placement-selector-scope": "Namespaced resources must be selected with their namespace",
    "placement-selector-version": "Resources of the core group must be selected in v1",
    "placement-strategy-apply": "serverSideApplyConfig must go with ServerSideApply",
    "placement-strategy-external": "rollingUpdate must not stand beside type External",
    "placement-strategy-negative": "Limits of a rolling update must be 0 or more",
    "placement-strategy-share": "Limits of a rolling update must be numbers or percentages",
    "placement-toleration-key": "A toleration must have a label key where it needs one",
    "placement-toleration-unique": "A toleration must be written once",
    "placement-toleration-value": "A toleration must have a label value where it needs one",
    "placement-undecided": "The cluster sets of a placement must be usable",
    "placement-unreadable": "A Placement must be readable",
    "policy-affinity-exclusive": "A policy must have clusterAffinity or clusterAffinities",
    "policy-affinity-name": "An affinity name must be a label key",
    "policy-affinity-unique": "An affinity name must be used once in a policy",
    "policy-failover-dependencies": "Application failover must go with propagateDeps",
    "policy-field-key": "Clusters must be selected by provider, region or zone",
    "policy-field-operator": "Fields of clusters must be compared by In or NotIn",
    "policy-grace-period": "A grace period must be above 0, and go with a graceful purge",
    "policy-immutable": "The scheduler of a policy must stay what it was",
    "policy-label-key": "What names a label in a policy must be a label key",
    "policy-overflow-division": "Overflow must go with a division that knows what fits",
    "policy-overflow-primary": "Overflow must follow a group that names clusters itself",
    "policy-overflow-unique": "An overflow group must have a name of its own in its group",
    "policy-preemption-name": "A policy that preempts must name its workloads",
    "policy-priority-class": "A policy must name a PriorityClass that is there",
    "policy-selector-namespace": "A PropagationPolicy must select in its own namespace",
    "policy-spread-bounds": "maxGroups must not be less than minGroups",
    "policy-spread-cluster": "A spread constraint by field must come with one by cluster",
    "policy-spread-exclusive": "A spread constraint must be by field or by label",
    "policy-spread-negative": "Bounds of a spread constraint must be 0 or more",
    "policy-spread-unique": "A field must have one spread constraint",
    "policy-suspension-exclusive": "Dispatching must be suspended everywhere or on some clusters",
    "policy-toleration-operator": "A toleration must compare by Equal or Exists",
    "policy-toleration-seconds": "tolerationSeconds of application failover must be 0 or more",
    "policy-workload-affinity": "Affinity and antiAffinity must group by different labels",
    "quota-amount": "A limit of a quota must be an amount that there can be",
    "profile-address": "A ClusterProfile must have addresses that are URLs",
    "profile-manager-immutable": "The manager of a ClusterProfile must stay what it was",
    "quota-assigned": "A quota must not give clusters more than it has",
    "quota-cluster": "A quota must name clusters by names that they can have",
    "quota-name": "The name of a quota must fit into a label",
    "quota-resource": "A quota must limit resources that quotas can limit",
    "rebalancer-kind": "A rebalancer must name a kind in upper camel case",
    "rebalancer-limits": "Limits must say what is limited",
    "rebalancer-namespace": "A rebalancer must name a namespace where the kind has one",
    "rebalancer-schedule": "A schedule must be a cron expression, with what goes with one",
    "rebalancer-selector": "The selector of a rebalancer must be usable",
    "rebalancer-target": "A rebalancer must say what is to be rebalanced",
    "removal-braked": "A pass must not remove most of what is placed, unless that is allowed",
    "replica-set-condition": "A rule in CEL must name the condition that it is about",
    "replica-set-manifest-name": "A manifest in a ManifestWork must have a kind and a name",
    "replica-set-manifest-unique": "A ManifestWork must not hold an object twice",
    "replica-set-manifests": "A ManifestWork must hold manifests, and not too many",
    "replica-set-rollout": "A rollout strategy must be one that can be followed",
    "replica-set-unreadable": "The rollout strategies of a ManifestWorkReplicaSet must be readable",
    "restore-commit": "What is restored must be a commit of the branch with the outputs",
    "schema-enum": "A field must have one of its known values",
    "schema-format": "A moment must be by RFC 3339, binary data Base64",
    "schema-items": "A list must have as many items as its kind allows",
    "schema-length": "A text must be as long as its kind allows",
    "schema-pattern": "A text must have its proper form",
    "schema-range": "A number must be within its bounds",
    "schema-required": "A required field must be given",
    "schema-type": "A field must have its type",
    "schema-unknown-field": "A field must be one that the kind has",
    "schema-version": "apiVersion must be a version that is read",
    "score-unreadable": "Scores must be readable",
    "set-binding-name": "A ManagedClusterSetBinding must be named like its set",
    "set-unreadable": "A ManagedClusterSet must be readable",
    "stage-concurrency": "A stage must update one cluster at a time at least",
    "stage-run-name": "The name of a staged update run must fit into a label",
    "stage-task": "A task of a stage must have the fields of its type only",
    "staged-by-itself": "What is rolled out by itself must not be staged",
    "staged-order": "An order must be about a run as it is",
    "staged-selector": "The selector of a StagedDelivery must be one of workloads",
    "staged-stopped": "A run that is stopped must be resumed or rolled back",
    "staged-strategy": "A StagedDelivery must name a strategy that reaches its clusters",
    "staged-twice": "An object must have one StagedDelivery",
    "taint-policy-effect": "A ClusterTaintPolicy must not evict",
    "taint-policy-unique": "A ClusterTaintPolicy must not have a taint twice",
    "trigger-duration": "The durations of a ScheduleTrigger must not be negative",
    "trigger-target": "A ScheduleTrigger must name something to reschedule",
    "unreachable-braked": "Most clusters must not be unreachable at once, unless that is allowed",
    "update-immutable": "What a run or an approval is about must stay what it was",
    "workload-limit": "A request must not be above its limit",
    "workload-metadata": "Labels and annotations of an object must be text",
    "workload-replicas": "A workload's replicas must be a whole number",
    "workload-resource": "A container must ask for resources that there are",
    "workload-restart": "Pods must have a restart policy that their kind can have",
    "workload-schedule": "The schedule of a CronJob must be a cron expression",
    "workload-selector": "A workload must select the pods of its own template",
    "workload-volume": "A container must mount volumes that its pod has",
    "yaml-alias": "An alias must follow its anchor, and stand in workloads only",
    "yaml-alias-limit": "Aliases must not unfold without bounds",
    "yaml-ambiguous-scalar": "A scalar must mean the same in YAML 1.1 and 1.2",
    "yaml-conflict-marker": "A merge conflict must be resolved before it is committed",
    "yaml-depth": "A document must not be too deep",
    "yaml-documents": "A file must not have too many documents",
    "yaml-duplicate-key": "A key must be given once in its mapping",
    "yaml-encoding": "A manifest must be UTF-8 without control characters",
    "yaml-key": "A key must be text",
    "yaml-lfs-pointer": "A manifest must be in Git itself, not in Git LFS",
    "yaml-merge-key": "A mapping must name its own fields, without merge keys",
    "yaml-node-limit": "A document must not have too many nodes",
    "yaml-non-finite": "A number must be finite",
    "yaml-number": "A number must not have too many digits",
    "yaml-size": "A file must not be too large",
    "yaml-syntax": "A manifest must be YAML, or JSON where it is named so",
    "yaml-tag": "A value must have no tag",
}
"""What never takes effect as it is written."""

WARNINGS: Mapping[str, str] = {
    "approval-ignored": "An approval should be of a run that is there, by its uid",
    "cel-unusable": "An expression of a Placement should be one that CEL can compile",
    "cluster-declared-twice": "A cluster should be declared once where APIs see each other's",
    "configuration-none": "What stands in reconciler.yaml should be a configuration",
    "restore-in-vain": "What asks to be restored must be something that is placed",
    "decision-without-profile": "What published decisions refer to should be there",
    "delivery-not-carried": "What is asked not to happen on clusters should be carried there",
    "feedback-cluster-unknown": "A cluster that reports should be there",
    "identity-kind-unknown": "A kind of ours should be spelled as it is read",
    "interpreter-script": "A row, not a script, should say where a kind has replicas",
    "kind-not-read": "A kind of these APIs should be one that is read here",
    "link-skipped": "A manifest should stand in the repository itself, not behind a link",
    "override-placement-unknown": "An override should be for a placement that is there",
    "override-selects-nothing": "An override policy should select workloads that are there",
    "placed-by-two-apis": "One API should put an object onto a cluster",
    "placement-cluster-unknown": "PickFixed should name clusters that are there",
    "placement-matches-nothing": "What a placement asks of clusters should fit one of them",
    "placement-names-empty": "PickFixed should name a cluster at least",
    "placement-prioritizer": "A Placement should ask for prioritizers that there are",
    "placement-run-missing": "A placement that runs roll out should have one",
    "placement-selects-nothing": "A placement of KubeFleet should select something",
    "placement-set-missing": "A Placement should stand where a cluster set is bound",
    "placement-set-unbound": "A Placement should name sets that are bound to its namespace",
    "policy-cluster-unknown": "A policy should name clusters that are there",
    "policy-dependents-differ": "Policies should ask alike of what the workloads of both need",
    "policy-kind-undivided": "A policy should divide kinds whose replicas can be found",
    "policy-lazy-places": "A new Lazy policy places the workloads that have no binding",
    "policy-never-propagated": "A policy should select workloads that Karmada propagates",
    "policy-overlap": "More than a name should decide which policy has a workload",
    "policy-override-missing": "A policy should depend on override policies that are there",
    "policy-selects-nothing": "A policy should select workloads that are there",
    "policy-spread-unbounded": "A spread constraint by cluster should allow some clusters",
    "policy-state-preservation": "What a policy preserves of a status should reach the new copy",
    "policy-weight-idle": "Weights should be for clusters that the affinity means",
    "quota-not-enforced": "A limit of a quota that is enforced should be of what workloads request",
    "rebalancer-make-before-break": "A placement that moves at once should not be asked otherwise",
    "rebalancer-preserves": "What runs should be kept of what says what runs",
    "rebalancer-target-idle": "A rebalancer should name what something places",
    "rebalancer-target-unknown": "A rebalancer should name what is there",
    "replica-set-placement": "A ManifestWorkReplicaSet should name placements that are there",
    "room-not-reported": "Clusters whose room is protected should report",
    "profile-amount": "Properties that say how much a cluster has should be amounts",
    "profile-contradiction": "ClusterProfiles of one member should agree",
    "profile-manager-label": "The label of a ClusterProfile's manager should name its manager",
    "profile-member-id": "A member id should not be empty",
    "profile-own-manager": "A profile of our own manager is no cluster",
    "publishing-selector": "A selector of published decisions must be one that selects",
    "profile-name": "A ClusterProfile should have a name that a cluster can have",
    "profile-secret": "A ClusterProfile should tell no secret",
    "run-reference-unknown": "A run should name a placement and a strategy that are there",
    "score-cluster-unknown": "Scores should stand in the namespace of a cluster",
    "score-expired": "Scores that a placement asks for should not have run out",
    "score-missing": "Scores that a placement asks for should be reported",
    "score-on-hub": "What delivery brings to a hub should not depend on what only Git knows",
    "selector-unusable": "A label selector should be one that can be judged",
    "set-binding-unknown": "A ManagedClusterSetBinding should bind a set that is there",
    "set-selects-nothing": "A ManagedClusterSet should have a cluster",
    "staged-held": "Clusters should have the version that the file of an object says",
    "staged-nothing": "A StagedDelivery should select something",
    "staged-undelivered": "What is staged should be delivered",
    "toleration-unusable": "A toleration should be one that tolerates something",
    "trigger-target-unknown": "A ScheduleTrigger should name what is there",
    "workload-amount": "What a workload asks for should be an amount that is meant",
    "workload-image": "An image should have a name by which it can be pulled",
    "workload-port": "A probe should be of a port that its container names",
    "workload-reference-unknown": "A workload should name what is there",
    "workload-room": "A pod should ask for no more than a cluster has",
    "workload-selects-nothing": "A selector of pods should meet some",
    "workload-variable": "A variable of Flux should stand where something replaces it",
    "workload-version": "A kind should be written in a version that Kubernetes serves",
}
"""What is legal and may be meant, but has another effect than it seems, or none."""

RULES: Mapping[str, str] = dict(sorted({**ERRORS, **WARNINGS}.items()))
"""Both, by id."""


def help_uri(rule: str) -> str:
    """Return the address of a rule's page.

    >>> help_uri("yaml-tag")
    'https://reconciler.dev/docs/rules/yaml-tag'
    """
    return f"{HELP_BASE}{rule}"
