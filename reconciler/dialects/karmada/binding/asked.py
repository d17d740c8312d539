"""What policies and workloads of Karmada ask not to happen to copies on clusters."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.work.work_spec import asked_by_policy, is_suspended_on
from reconciler.dialects.karmada.binding.work_marks import CONFLICT
from reconciler.dialects.karmada.overridemanager.label_overrider import string_map
from reconciler.dialects.renderer import NO_INSTRUCTIONS, Instruction
from reconciler.manifests.secrets import is_secret
from reconciler.manifests.sops import has_open_checksum, is_encrypted
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.identity import ClusterName

RETAIN = Instruction.REPLICAS_RETAINED.value


def asked_by_workload(manifest: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what a workload itself asks, each with its JSON pointer.

    Unlike upstream: replicas are retained of every kind that has `spec.replicas`, where its agents
    know some kinds only.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/retain.go
    `retainWorkloadReplicas`; pkg/controllers/binding/common.go `mergeConflictResolution`.
    """
    metadata = at(manifest, "metadata")
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    if (string_map(labels) or {}).get(RETAIN) == "true" and "replicas" in at(manifest, "spec"):
        pointer = "/metadata/labels/resourcetemplate.karmada.io~1retain-replicas"
        yield pointer, Instruction.REPLICAS_RETAINED
    if (string_map(annotations) or {}).get(CONFLICT) == "abort":
        yield "/metadata/annotations/work.karmada.io~1conflict-resolution", Instruction.ABORTS
    if is_secret(manifest) and is_encrypted(manifest) and has_open_checksum(manifest):
        yield "/sops/mac", Instruction.CHECKSUM


def asked_of_copies(
    manifest: Body, binding: BindingSpec, policy: Body | None
) -> frozenset[Instruction]:
    """Return what is asked of the copies of a workload, but for what is asked of one cluster.

    Args:
        manifest: The workload, overrides applied.
        binding: Its binding.
        policy: The policy that claims it, as it is written, `None` if there is none.
    """
    found = {instruction for _, instruction in asked_by_workload(manifest)}
    if binding.preserve_resources_on_deletion:
        found.add(Instruction.PRESERVED)
    written = () if policy is None else asked_by_policy(policy)
    if any(one is Instruction.ABORTS for _, one in written):
        found.add(Instruction.ABORTS)
    return frozenset(found)


def asked_on(binding: BindingSpec, cluster: ClusterName) -> frozenset[Instruction]:
    """Return what is asked of one cluster alone."""
    if binding.suspension and is_suspended_on(binding.suspension, cluster):
        return frozenset({Instruction.SUSPENDED})
    return NO_INSTRUCTIONS
