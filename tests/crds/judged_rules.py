"""The functions of ours that answer the CEL rules of KubeFleet's kinds that are judged only."""

from collections.abc import Callable, Iterable, Sequence

from reconciler.dialects.kubefleet.api.admission import (
    refuse_old_edit,
    refuse_run,
    refuse_stages,
    refuse_transition,
)
from reconciler.dialects.kubefleet.api.override_admission import (
    refuse_budget,
    refuse_other_eviction,
    refuse_other_placement,
    refuse_override,
)
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from tests.crds.refusals import finds, misconfigures
from tests.crds.rules import FLEET, Answer, Refuses

BUDGETS = f"{FLEET} *DisruptionBudget"
EVICTIONS = f"{FLEET} *Eviction"
OVERRIDES = f"{FLEET} *ResourceOverride"
REQUESTS = f"{FLEET} *ApprovalRequest"
RUNS = f"{FLEET} *StagedUpdateRun"
STRATEGIES = f"{FLEET} *StagedUpdateStrategy"

SHARE = "type(self) == string ? self.matches('^(100|[0-9]{1,2})%$') : self >= 0"
SAME_PLACEMENT = (
    "(has(oldSelf.placement) && has(self.placement) && oldSelf.placement == self.placement) || "
    "(!has(oldSelf.placement) && !has(self.placement))"
)
NO_TIME = "!self.exists(e, e.type == 'Approval' && has(e.waitTime))"
NO_WAIT = "!self.exists(e, e.type == 'TimedWait')"
WAIT_HAS_TIME = "!self.exists(e, e.type == 'TimedWait' && !has(e.waitTime))"
STAYS = "self == oldSelf"


def _below(check: Callable[[Body], Iterable[Violation]], field: str, rule: str) -> Refuses:
    """Return whether a function finds a violation of a rule of ours in a field, or in its items."""
    return lambda _before, after: any(
        one.rule == rule and field in one.pointer.split("/") for one in check(after)
    )


def _edit(check: Callable[[Body, Body], None], *path: str) -> Refuses:
    """Return whether a function of two specs refuses an edit of one field."""
    return misconfigures(
        lambda before, after: check(mapping(before, "spec"), mapping(after, "spec")), *path
    )


def _moves(before: str, after: str) -> str:
    """Return the expression that forbids a state after another."""
    return f"!(has(oldSelf.state) && oldSelf.state == '{before}' && self.state == '{after}')"


JUDGED: Sequence[Answer] = (
    Answer(
        OVERRIDES,
        "",
        ("!has(self.spec.placement) || self.spec.placement.scope != 'Namespaced'",),
        "kubefleet.api.override_admission.refuse_override",
        finds(refuse_override, "override-scope"),
    ),
    Answer(
        OVERRIDES,
        "spec",
        (SAME_PLACEMENT,),
        "kubefleet.api.override_admission.refuse_other_placement",
        _edit(refuse_other_placement, "spec"),
    ),
    Answer(
        BUDGETS,
        "spec",
        ("!(has(self.maxUnavailable) && has(self.minAvailable))",),
        "kubefleet.api.override_admission.refuse_budget",
        finds(refuse_budget, "budget-exclusive"),
    ),
    *(
        Answer(
            BUDGETS,
            f"spec.{name}",
            (SHARE,),
            "kubefleet.api.override_admission.refuse_budget",
            _below(refuse_budget, name, "budget-limit"),
        )
        for name in ("maxUnavailable", "minAvailable")
    ),
    *(
        Answer(
            EVICTIONS,
            f"spec.{name}",
            (STAYS,),
            "kubefleet.api.override_admission.refuse_other_eviction",
            _edit(refuse_other_eviction, "spec", name),
        )
        for name in ("placementName", "clusterName")
    ),
    Answer(
        REQUESTS,
        "spec",
        (STAYS,),
        "kubefleet.api.admission.refuse_old_edit",
        _edit(refuse_old_edit, "spec"),
    ),
    Answer(
        RUNS,
        "",
        ("size(self.metadata.name) < 64", "size(self.metadata.name) < 128"),
        "kubefleet.api.admission.refuse_run",
        finds(refuse_run, "stage-run-name"),
    ),
    Answer(
        RUNS,
        "spec",
        (_moves("Initialize", "Stop"), _moves("Run", "Initialize"), _moves("Stop", "Initialize")),
        "kubefleet.api.admission.refuse_transition",
        _edit(refuse_transition, "spec"),
    ),
    *(
        Answer(
            RUNS,
            f"spec.{name}",
            (STAYS,),
            "kubefleet.api.admission.refuse_transition",
            _edit(refuse_transition, "spec", name),
        )
        for name in ("placementName", "stagedRolloutStrategyName", "resourceSnapshotIndex")
    ),
    Answer(
        RUNS,
        "spec",
        (STAYS,),
        "kubefleet.api.admission.refuse_old_edit",
        _edit(refuse_old_edit, "spec"),
    ),
    *(
        Answer(
            STRATEGIES,
            f"spec.stages[].{name}",
            expressions,
            "kubefleet.api.admission.refuse_stages",
            _below(refuse_stages, name, rule),
        )
        for name, rule, expressions in (
            ("beforeStageTasks", "stage-task", (NO_TIME, NO_WAIT)),
            ("afterStageTasks", "stage-task", (NO_TIME, WAIT_HAS_TIME)),
            (
                "maxConcurrency",
                "stage-concurrency",
                ("self == null || type(self) != int || self >= 1",),
            ),
        )
    ),
)
