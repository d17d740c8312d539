"""What Karmada's validating webhooks refuse of failover and keys of labels."""

from collections.abc import Iterator

from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, flag_or_none, mapping, mapping_or_none, number, text
from reconciler.model.labels import is_label_key
from reconciler.model.message_text import shown


def refuse_failover(spec: Body) -> Iterator[Violation]:
    """Yield what is wrong with the failover of a policy whose defaults are filled in.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidateFailover`,
    `ValidateApplicationFailover`.
    """
    failover = mapping(spec, "failover")
    application = mapping_or_none(failover, "application")
    if application is not None:
        yield from _dependencies(spec)
        yield from _toleration_seconds(application)
        yield from _grace_period(application)
    for name in ("application", "cluster"):
        yield from _aliases(mapping(failover, name), f"/spec/failover/{name}")


def _dependencies(spec: Body) -> Iterator[Violation]:
    """Failing over an application needs what it depends on to follow."""
    if flag_or_none(spec, "propagateDeps") is not True:
        yield Violation(
            "/spec/propagateDeps",
            "policy-failover-dependencies",
            "`propagateDeps` must be true where `failover.application` is set",
            "true",
        )


def _toleration_seconds(application: Body) -> Iterator[Violation]:
    """An application cannot have been unhealthy for less than no time."""
    if number(mapping(application, "decisionConditions"), "tolerationSeconds") < 0:
        yield Violation(
            "/spec/failover/application/decisionConditions/tolerationSeconds",
            "policy-toleration-seconds",
            "`tolerationSeconds` must be greater than or equal to 0",
            "0 or more",
        )


def _grace_period(application: Body) -> Iterator[Violation]:
    """Only a graceful purge waits, and it waits for some time.

    An empty `purgeMode` becomes Gracefully after the default of the time was filled in.
    """
    where = "/spec/failover/application/gracePeriodSeconds"
    graceful = text(application, "purgeMode") == "Gracefully"
    if application.get("gracePeriodSeconds") is None:
        if graceful:
            yield Violation(
                where,
                "policy-grace-period",
                "`gracePeriodSeconds` must be given where `purgeMode` is empty",
                "1 or more, or purgeMode: Gracefully",
            )
        return
    if not graceful:
        yield Violation(
            where,
            "policy-grace-period",
            "`gracePeriodSeconds` must go with `purgeMode: Gracefully`",
            "purgeMode: Gracefully, or no gracePeriodSeconds",
        )
    elif number(application, "gracePeriodSeconds") <= 0:
        yield Violation(
            where, "policy-grace-period", "`gracePeriodSeconds` must be greater than 0", "1 or more"
        )


def _aliases(behaviour: Body, at: str) -> Iterator[Violation]:
    """What is preserved is carried by labels."""
    rules = bodies(mapping(behaviour, "statePreservation"), "rules")
    for position, rule in enumerate(rules):
        where = f"{at}/statePreservation/rules/{position}/aliasLabelName"
        yield from refuse_label_key(text(rule, "aliasLabelName"), where)


def refuse_label_key(key: str, at: str) -> Iterator[Violation]:
    """Yield a violation unless a text can be the key of a label.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go
    `ValidateLabelName`.
    """
    if not is_label_key(key):
        yield Violation(
            at,
            "policy-label-key",
            f"the label key {shown(key)} must be one that labels can have",
            "an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'",
        )


def refuse_workload_affinity(placement: Body) -> Iterator[Violation]:
    """Yield what is wrong with the labels that workloads are grouped by.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidateWorkloadAffinity`.
    """
    at = "/spec/placement/workloadAffinity"
    affinity = mapping(placement, "workloadAffinity")
    terms = {name: mapping_or_none(affinity, name) for name in ("affinity", "antiAffinity")}
    keys = [text(term, "groupByLabelKey") for term in terms.values() if term is not None]
    for name, term in terms.items():
        if term is not None:
            key = text(term, "groupByLabelKey")
            yield from refuse_label_key(key, f"{at}/{name}/groupByLabelKey")
    if len(keys) == len(terms) and keys[0] and keys[0] == keys[1]:
        yield Violation(
            at,
            "policy-workload-affinity",
            "`affinity` and `antiAffinity` must group by different label keys",
            "two keys",
        )
