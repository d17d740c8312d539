"""What policies preserve of a workload's status in vain."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.policies import Policy
from reconciler.dialects.karmada.api.settings import STATE_PRESERVATION, Failover
from reconciler.dialects.karmada.api.work.eviction_task import DIRECTLY
from reconciler.dialects.karmada.api.work.failover_behavior import preserving
from reconciler.dialects.karmada.eviction.state_preservation import unreadable_path
from reconciler.manifests.references import Dangling
from reconciler.model.message_text import shown

RULE = "policy-state-preservation"


def preserved_in_vain(policy: Policy, failover: Failover) -> Iterator[Dangling]:
    """Yield why no label of a policy would be carried on, and the rules that find nothing.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `injectReservedLabelState`.
    """
    key = policy.key
    for name, purge_mode, rules in preserving(policy.copied.failover):
        at = f"/spec/failover/{name}"
        if not failover.state_preservation:
            message = f"nothing is preserved while `{STATE_PRESERVATION}` is off in reconciler.yaml"
            expected = f"{STATE_PRESERVATION}: true"
            yield Dangling(key, f"{at}/statePreservation", RULE, message, expected)
            continue
        if purge_mode != DIRECTLY:
            message = "labels are carried only where the old copy goes before the new one comes"
            yield Dangling(key, f"{at}/purgeMode", RULE, message, f"purgeMode: {DIRECTLY}")
        for position, rule in enumerate(rules):
            if why := unreadable_path(rule.json_path):
                where = f"{at}/statePreservation/rules/{position}/jsonPath"
                message = f"{shown(rule.json_path)} {why}, so that nothing would fail over"
                yield Dangling(key, where, RULE, message, "such as {.readyReplicas}")
