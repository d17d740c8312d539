"""What is refused of rebalancers and triggers: which workload moves must be plain from the file."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from reconciler.errors import UserError
from reconciler.manifests.schemas.violations import Admission, Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, strings, text
from reconciler.model.identity import group_of
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.labels import refusal_of
from reconciler.model.text import is_kind, shown
from reconciler.rebalance.rebalancer_files import decode_make_before_break, decode_selection
from reconciler.rebalance.schedule_trigger import is_schedule
from reconciler.rebalance.target import REBALANCER, TRIGGER


def refuse_rebalancer(scopes: Mapping[Kind, bool], body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a WorkloadRebalancer.

    A missing namespace is not filled in here, as it is elsewhere.
    """
    spec = mapping(body, "spec")
    return (
        *_nothing_wanted(spec),
        *_targets("/spec/workloads", scopes, bodies(spec, "workloads")),
        *_selector(spec),
        *_schedule(spec),
        *_limits(spec),
    )


def refuse_trigger(scopes: Mapping[Kind, bool], body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a ScheduleTrigger."""
    spec = mapping(body, "spec")
    resources = bodies(spec, "targetRefResource")
    violations = list(_targets("/spec/targetRefResource", scopes, resources))
    if not resources and not bodies(spec, "targetRefPolicy"):
        violations.append(
            Violation(
                "/spec",
                "trigger-target",
                "`targetRefResource` or `targetRefPolicy` must name something to reschedule",
                "at least one of the two",
            )
        )
    for field in ("retryAfterSeconds", "autoCleanAfterMinutes"):
        value = spec.get(field)
        if isinstance(value, int) and value < 0:
            expected = "0 or more"
            message = f"`{field}` is {value}, it must not be negative"
            violations.append(Violation(f"/spec/{field}", "trigger-duration", message, expected))
    return (*violations, *_limits_of_nothing(spec), *_steps(mapping(spec, "limits")))


def _nothing_wanted(spec: Body) -> Iterator[Violation]:
    if not bodies(spec, "workloads") and mapping_or_none(spec, "selector") is None:
        yield Violation(
            "/spec",
            "rebalancer-target",
            "`workloads` or `selector` must say what is to be rebalanced",
            "at least one of the two",
        )


def _targets(
    pointer: str, scopes: Mapping[Kind, bool], workloads: Iterable[Body]
) -> Iterator[Violation]:
    """Check the name of each target, and its namespace against the scope of its kind.

    # Unlike upstream: its CRD takes an empty name, of an object that no API server can have.
    """
    for position, workload in enumerate(workloads):
        at = f"{pointer}/{position}"
        kind, namespace = text(workload, "kind"), text(workload, "namespace")
        if not is_kind(kind):
            yield Violation(
                f"{at}/kind",
                "rebalancer-kind",
                f"{shown(kind)} must be a kind in upper camel case",
                "for example Deployment",
            )
        if not text(workload, "name"):
            yield Violation(
                f"{at}/name",
                "rebalancer-target",
                "`name` must name the object that is to be rebalanced",
                "the name of an object, or a selector",
            )
        namespaced = scopes.get((group_of(text(workload, "apiVersion")), kind))
        if namespaced is True and not namespace:
            yield Violation(
                at,
                "rebalancer-namespace",
                f"`namespace` must be given for a {kind}",
                "namespace: default, if it stands there",
            )
        if namespaced is False and namespace:
            yield Violation(
                f"{at}/namespace",
                "rebalancer-namespace",
                f"`namespace` must be absent for a {kind}, which is cluster-scoped",
                "no namespace",
            )


def _selector(spec: Body) -> Iterator[Violation]:
    """Check that a selector can be read, and that its labels can be those of an object."""
    selector = mapping_or_none(spec, "selector")
    if selector is None:
        return
    try:
        labels = decode_selection(selector).labels
    except UserError as error:
        yield Violation("/spec/selector", "rebalancer-selector", error.message)
        return
    policy = mapping(selector, "policy")
    if bool(text(policy, "kind")) is not bool(text(policy, "apiVersion")):
        yield Violation(
            "/spec/selector/policy",
            "rebalancer-selector",
            "`apiVersion` and `kind` of a policy must stand together",
            "both, or none of them for a PropagationPolicy or ClusterPropagationPolicy",
        )
    refusal = "" if labels is None else refusal_of(labels)
    if refusal:
        yield Violation("/spec/selector/labelSelector", "rebalancer-selector", refusal)


def _schedule(spec: Body) -> Iterator[Violation]:
    """Check the expression, and what goes with it."""
    schedule = text(spec, "schedule")
    if schedule and not is_schedule(schedule):
        yield Violation(
            "/spec/schedule",
            "rebalancer-schedule",
            f"{shown(schedule)} must be a cron expression of five fields that comes true",
            '"0 3 * * SUN" for Sundays at three, UTC',
        )
    if schedule and spec.get("ttlSecondsAfterFinished") is not None:
        yield Violation(
            "/spec/ttlSecondsAfterFinished",
            "rebalancer-schedule",
            "`ttlSecondsAfterFinished` must be absent beside `schedule`, which never finishes",
            "one of the two",
        )
    if spec.get("suspend") is not None and not schedule:
        yield Violation(
            "/spec/suspend",
            "rebalancer-schedule",
            "`suspend` must stand beside `schedule`, which it rests",
            "a schedule, or no suspend",
        )


def _limits(spec: Body) -> Iterator[Violation]:
    """Check that an interval has batches to be between, and that a step has time to settle."""
    yield from _limits_of_nothing(spec)
    limits = mapping(spec, "limits")
    if mapping(spec, "reschedule").get("preserveAvailableReplicas") is True:
        named = next((one for one in ("maxMoves", "makeBeforeBreak") if one in limits), "")
        if named:
            yield Violation(
                f"/spec/limits/{named}",
                "rebalancer-limits",
                f"`{named}` must be absent beside `preserveAvailableReplicas`: what cannot be "
                "scheduled serves nobody, so it moves at once",
                "one of the two",
            )
            return
    steps = decode_make_before_break(limits)
    if steps is None and strings(spec, "leaving"):
        yield Violation(
            "/spec/leaving",
            "rebalancer-limits",
            "`leaving` must stand beside `limits.makeBeforeBreak`, by which clusters are left",
            "limits: {makeBeforeBreak: {}}, or no leaving",
        )
    if steps is not None and limits.get("intervalSeconds") is not None:
        yield Violation(
            "/spec/limits/intervalSeconds",
            "rebalancer-limits",
            "`intervalSeconds` must be absent beside `makeBeforeBreak`: there what is ready makes "
            "room for what is next",
            "one of the two",
        )
        return
    yield from _steps(limits)
    if limits.get("intervalSeconds") is not None and limits.get("maxMoves") is None:
        yield Violation(
            "/spec/limits",
            "rebalancer-limits",
            "`maxMoves` must stand beside `intervalSeconds`, which is the time between two batches",
            "maxMoves: 2, or no intervalSeconds",
        )


def _limits_of_nothing(spec: Body) -> Iterator[Violation]:
    """Check that limits say something: a null is none, as on an API server."""
    limits = mapping_or_none(spec, "limits")
    if limits is not None and all(value is None for value in limits.values()):
        yield Violation(
            "/spec/limits",
            "rebalancer-limits",
            "`limits` must say what is limited; a null says nothing, and the defaults of "
            "`makeBeforeBreak` are `{}`",
            "limits: {makeBeforeBreak: {}}, or no limits",
        )


def _steps(limits: Body) -> Iterator[Violation]:
    """Check that what runs beside other replicas has time to settle."""
    steps = decode_make_before_break(limits)
    if steps is not None and steps.settle_seconds >= steps.deadline_seconds:
        yield Violation(
            "/spec/limits/makeBeforeBreak/settleSeconds",
            "rebalancer-limits",
            f"`settleSeconds` is {steps.settle_seconds}, it must be less than `deadlineSeconds`, "
            f"which is {steps.deadline_seconds}",
            f"less than {steps.deadline_seconds}",
        )


def rebalance_admissions(known: KnownKinds) -> Mapping[Kind, Admission]:
    """Return what is refused, by kind; targets may be of any kind that is known."""
    return {
        REBALANCER: partial(refuse_rebalancer, known.scopes),
        TRIGGER: partial(refuse_trigger, known.scopes),
    }
