"""What Karmada's validating webhook refuses in a ClusterTaintPolicy."""

from collections.abc import Iterator

from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.message_text import shown


def refuse_taint_policy(body: Body, *, no_execute: bool = False) -> tuple[Violation, ...]:
    """Return what is wrong with the taints of a policy that its schema accepts.

    Effects, keys, operators and selectors are not looked at.

    Args:
        body: The policy.
        no_execute: Whether policies may evict, as `--allow-no-execute-taint-policy` says.

    Source: karmada@f8fdd02 pkg/webhook/clustertaintpolicy/validating.go `Handle`.
    """
    return tuple(_taints(bodies(mapping(body, "spec"), "taints"), no_execute=no_execute))


def _taints(taints: tuple[Body, ...], *, no_execute: bool) -> Iterator[Violation]:
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        at = f"/spec/taints/{position}"
        pair = text(taint, "key"), text(taint, "effect")
        if pair[1] == "NoExecute" and not no_execute:
            yield Violation(
                f"{at}/effect",
                "taint-policy-effect",
                "a ClusterTaintPolicy must not add NoExecute, which would evict at once",
                "NoSchedule, or the taint in the Cluster itself",
            )
        if pair in seen:
            yield Violation(
                at,
                "taint-policy-unique",
                f"the taint {shown(pair[0])} must be given once for each effect",
                "one taint for each key and effect",
            )
        seen.add(pair)
