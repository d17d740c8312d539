"""Faults that keep policies and workloads from each other, at the file of the one in the wrong."""

from collections.abc import Callable

from reconciler.dialects.karmada.api.custom_kinds import Uncountable
from reconciler.dialects.karmada.api.policies import Policy, Template
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault, World

COUNTED = "a number, or another row under spec.karmada.interpreters of reconciler.yaml"


def waiting_fault(world: World, policy: Policy) -> Fault:
    """Return the fault of a policy that claims nothing until its override policies are there.

    Source: karmada@f8fdd02 pkg/detector/detector.go `ApplyPolicy`, dependentOverrides.
    """
    names = ", ".join(policy.waits_for)
    return Fault(
        path=world.inputs[policy.key].origin.path,
        line=0,
        column=0,
        field="/spec/dependentOverrides",
        rule="policy-override-missing",
        message=f"the policy waits for override policies that are not there: {names}",
        expected="the override policies, or no such dependency",
        subject=str(policy.key),
    )


def refused_fault(
    path: Callable[[ObjectKey], str], policy: Policy, template: Template, error: UserError
) -> Fault:
    """Return the fault, at the file of the one in the wrong, that a policy cannot be applied."""
    if isinstance(error, Uncountable):
        return Fault(
            path=path(template.key),
            line=0,
            column=0,
            field=error.field,
            rule="workload-replicas",
            message=error.message,
            expected=COUNTED,
            subject=str(template.key),
        )
    return Fault(
        path=path(policy.key),
        line=0,
        column=0,
        field=error.field,
        rule="policy-priority-class",
        message=f"the policy is not applied: {error.message}",
        expected="the name of a PriorityClass of this repository",
        subject=str(policy.key),
    )


def name_fault(
    template: Template, key: ObjectKey, path: str, owner: ObjectKey | None
) -> Fault | None:
    """Return why a workload cannot have a binding of its name, `None` if it can."""
    if owner is None:
        return None
    message = f"its binding would be named {key.name} like that of {owner}, so it is not placed"
    expected = "names that differ in more than upper and lower case, or a colon and a dot"
    return Fault(path, 0, 0, "/metadata/name", "binding-name", message, expected, str(template.key))
