"""What a binding says of its Works: whether they wait, and what outlives them."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.renderer import Instruction
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import flag_or_none, mapping, strings, text
from reconciler.model.identity import ClusterName


def encode_dispatch(binding: BindingSpec, cluster: ClusterName) -> Body:
    """Return what the spec of a Work has beside its manifests."""
    return {
        "suspendDispatching": is_suspended_on(binding.suspension or {}, cluster),
        "preserveResourcesOnDeletion": bool(binding.preserve_resources_on_deletion),
    }


def is_suspended_on(suspension: Body, cluster: ClusterName) -> bool:
    """Return whether a cluster's agent is to pass over the Work.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `shouldSuspendDispatching`.
    """
    named = at(suspension, "dispatchingOnClusters").get("clusterNames") or ()
    return bool(flag_or_none(suspension, "dispatching")) or cluster in named  # type: ignore[operator]


def keeps_objects(body: Body) -> bool:
    """Return whether a Work, or a binding, leaves its objects in clusters when it goes."""
    return flag_or_none(mapping(body, "spec"), "preserveResourcesOnDeletion") is True


def is_passed_over(work: Body) -> bool:
    """Return whether who applies Works does not apply this one."""
    return flag_or_none(mapping(work, "spec"), "suspendDispatching") is True


def asked_by_policy(policy: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what a policy asks as it is written, each with its JSON pointer.

    `conflictResolution: Abort` is the default of the CRD; only who writes it asks for it.
    """
    spec = mapping(policy, "spec")
    suspension = mapping(spec, "suspension")
    if flag_or_none(suspension, "dispatching"):
        yield "/spec/suspension/dispatching", Instruction.SUSPENDED
    elif strings(mapping(suspension, "dispatchingOnClusters"), "clusterNames"):
        yield "/spec/suspension/dispatchingOnClusters", Instruction.SUSPENDED
    if flag_or_none(spec, "preserveResourcesOnDeletion"):
        yield "/spec/preserveResourcesOnDeletion", Instruction.PRESERVED
    if text(spec, "conflictResolution") == "Abort":
        yield "/spec/conflictResolution", Instruction.ABORTS
