"""Who is said to decide does: where a rule decides otherwise, its test fails."""

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reconciler.core.inputs.last_known_good import LastKnownGood
from reconciler.core.safety import NO_WAITS, Brake
from reconciler.core.stated import ReadDocuments
from reconciler.delivery.pruning import Pruning
from reconciler.dialects.contract import DependsOnOthers
from reconciler.dialects.karmada.scheduler.schedule import ScheduleReason
from reconciler.dialects.kubefleet import eviction
from reconciler.dialects.ocm.scheduler.plugins import Tolerance
from reconciler.schedule.framework import positions_of
from reconciler.shell.git.signing import Signature
from tests.builders import policy
from tests.dialects.kubefleet.test_eviction import COUNTS


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A test that fails where a rule has another answer, that answer, and the test's arguments."""

    file: str
    test: str
    answer: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Rule(NamedTuple):
    """A question, the module and the name of who decides it, and a test that tries it."""

    question: str
    symbol: str
    otherwise: Otherwise | None = None

    def find(self) -> Any:
        """Return who decides."""
        module, name = self.symbol.split(":")
        return attrgetter(name)(import_module(f"reconciler.{module}"))

    def __str__(self) -> str:
        """The row of the table in docs/architecture.md."""
        tried = self.otherwise
        test = f" `{tried.file}::{tried.test}`" if tried else ""
        return f"| {self.question} | `{self.symbol}` |{test} |\n"


def never(*_: object, **__: object) -> None:
    """Nothing, whatever is asked."""


RULES = (
    Rule("which files are input?", "core.inputs.index:InputFiles.__call__"),
    Rule("how YAML is read, and what is refused?", "manifests.text.reader:read"),
    Rule(
        "what stays in force when a file breaks?",
        "core.inputs.last_known_good:last_known_good",
        Otherwise(
            "tests/core/inputs/test_last_known_good.py",
            "test_it_is_held_across_passes_and_other_edits",
            lambda *_, **__: LastKnownGood(),
        ),
    ),
    Rule("what a dialect must say of its kinds?", "model.kinds:ApiKind"),
    Rule(
        "what a mistake of ours in one object does to the others?", "dialects.object_pass:attempt"
    ),
    Rule(
        "how a suspended object is told?",
        "manifests.admission:is_suspended",
        Otherwise(
            "tests/dialects/karmada/detector/test_policies.py",
            "test_a_suspended_workload_stays_while_its_neighbour_moves",
            lambda _: False,
        ),
    ),
    Rule(
        "which workloads a pass of Karmada looks at again?",
        "dialects.karmada.detector.detect:affected_workloads",
    ),
    Rule(
        "which objects a change concerns, of those that said what they read?",
        "dialects.reads:ReadTable.affected",
        Otherwise(
            "tests/dialects/kubefleet/test_decide.py",
            "test_a_change_is_found",
            lambda *_: set(),
            {"kind": "fleet"},
        ),
    ),
    Rule(
        "which policy claims a workload that none has?",
        "dialects.karmada.detector.policies:_best",
        Otherwise(
            "tests/dialects/karmada/detector/test_policies.py",
            "test_election",
            lambda found: max((p for p, _ in found), key=lambda p: str(p.key.name), default=None),
            {"policies": [policy("b"), policy("a")], "expected": "a"},
        ),
    ),
    Rule("which may take it from another?", "dialects.karmada.detector.policies:_may_preempt"),
    Rule(
        "why a binding is scheduled in this pass?",
        "dialects.karmada.scheduler.schedule:find_trigger",
        Otherwise(
            "tests/dialects/karmada/test_decide.py",
            "test_a_new_taint_alone_moves_nothing",
            lambda *_: ScheduleReason.NONE,
        ),
    ),
    Rule("who wins a tie between clusters, in Karmada?", "dialects.karmada.scheduler.select:rank"),
    Rule(
        "who wins it in KubeFleet?",
        "dialects.kubefleet.scheduler.picks:_descending",
        Otherwise(
            "tests/dialects/kubefleet/scheduler/test_plugins.py",
            "test_ties_go_to_kept_clusters_then_to_the_greater_name",
            positions_of,
        ),
    ),
    Rule(
        "how replicas are divided by weight?",
        "schedule.apportion:allot",
        Otherwise(
            "tests/dialects/karmada/scheduler/test_schedule.py",
            "test_inertia_is_explained_as_if_the_scheduler_looked",
            lambda replicas, weights, **_: [replicas, *(0 for _ in weights[1:])],
        ),
    ),
    Rule(
        "when a reservation ends?",
        "core.ledger:review",
        Otherwise(
            "tests/dialects/karmada/test_protected_room.py",
            "test_without_reports_it_ends_at_its_bound",
            lambda found, *_: found,
        ),
    ),
    Rule(
        "what a quota refuses?",
        "dialects.karmada.quotas:QuotaGate.refusal",
        Otherwise(
            "tests/dialects/karmada/test_quotas.py",
            "test_a_scaling_that_exceeds_keeps_the_replicas_that_there_were",
            lambda *_: "",
        ),
    ),
    Rule(
        "how many seconds a taint is tolerated, by Karmada?",
        "dialects.karmada.eviction:tolerated_until",
        Otherwise(
            "tests/dialects/karmada/test_decide.py",
            "test_toleration_seconds_count_from_the_taint",
            never,
            {"dated": None, "start": 100},
        ),
    ),
    Rule(
        "how long a cluster that is left keeps its copy?",
        "dialects.karmada.eviction:_stays",
        Otherwise(
            "tests/dialects/karmada/test_decide.py",
            "test_an_untolerated_no_execute_taint_evicts_at_once",
            lambda *_, **__: True,
        ),
    ),
    Rule(
        "which taints OCM puts up with, and what `NoSelectIfNew` means?",
        "dialects.ocm.scheduler.plugins:tolerance",
        Otherwise(
            "tests/dialects/ocm/test_decide.py",
            "test_taint_moves_the_decision_at_once",
            lambda *_, **__: Tolerance(),
        ),
    ),
    Rule(
        "what would make such a cluster eligible (each filter says it of its own rejections)?",
        "dialects.ocm.scheduler.plugins:ToleratedTaint.__str__",
        Otherwise(
            "tests/dialects/ocm/test_decide.py",
            "test_every_filter_is_told_of_every_cluster",
            lambda _: "wait",
        ),
    ),
    Rule(
        "which prioritizers count, and how much?",
        "dialects.ocm.scheduler.plugins:prioritizers_of",
        Otherwise(
            "tests/dialects/ocm/test_decide.py",
            "test_first_decision_is_written_with_its_status",
            lambda _: (),
        ),
    ),
    Rule("how fast a rollout of OCM may go?", "dialects.ocm.rollout:roll_out"),
    Rule(
        "which cluster has which template of a set of ManifestWorks?",
        "dialects.ocm.manifestworkreplicaset.replica_set:SetRecord",
    ),
    Rule(
        "how are the works of a set counted?",
        "dialects.ocm.manifestworkreplicaset.sync:_Sync._counted",
    ),
    Rule(
        "which clusters go when PickN wants fewer?",
        "dialects.kubefleet.scheduler.picks:_worst_first",
        Otherwise(
            "tests/dialects/kubefleet/test_placement_cycle.py",
            "test_scaling_in_lets_the_lesser_name_go",
            lambda bindings: tuple(sorted(bindings, key=lambda one: str(one.target), reverse=True)),
        ),
    ),
    Rule(
        "what a disruption budget allows?",
        "dialects.kubefleet.eviction:_within",
        Otherwise(
            "tests/dialects/kubefleet/test_eviction.py",
            "test_a_budget_is_kept",
            lambda *_: eviction._FREE,
            {
                "limits": {"minAvailable": 2},
                "expected": f"blocked {COUNTS}: 2, totalPlacements: 2",
            },
        ),
    ),
    Rule(
        "what does a placement's condition say of its schedule?",
        "dialects.kubefleet.snapshots.policy_snapshots:_condition",
    ),
    Rule("how fast a KubeFleet rollout may go?", "dialects.kubefleet.rollout.rollout:_roll"),
    Rule(
        "how a ResourcePlacement differs from a ClusterResourcePlacement?",
        "dialects.kubefleet.api.names:PlacementKinds",
    ),
    Rule(
        "which targets of a limited rebalance are let go now?",
        "rebalance.workload_rebalancer:_limited",
    ),
    Rule(
        "when a finished rebalancer is removed?",
        "rebalance.workload_rebalancer:_expires_at",
        Otherwise(
            "tests/rebalance/test_workload_rebalancer.py",
            "test_zero_time_to_live_ends_in_the_pass_that_finishes",
            never,
        ),
    ),
    Rule("how demands of one target are joined?", "core.rebalances:join_triggers"),
    Rule(
        "whether a step's replicas are ready?",
        "dialects.karmada.api.work:BindingReports.has_made",
        Otherwise(
            "tests/core/test_make_before_break.py",
            "test_a_report_of_another_step_is_none",
            lambda *_: True,
        ),
    ),
    Rule(
        "which removals are held back?",
        "core.safety:brake",
        Otherwise(
            "tests/core/test_safety.py",
            "test_lost_cluster_files_count_as_removals",
            lambda *_: Brake(),
        ),
    ),
    Rule(
        "what waits for the end of a freeze, or for the next hour?",
        "core.safety:pace",
        Otherwise(
            "tests/core/test_safety.py",
            "test_a_new_placement_waits_for_the_end_of_a_freeze",
            lambda *_: NO_WAITS,
        ),
    ),
    Rule(
        "what one object reads, so that it can be asked alone?",
        "core.stated:StatedDocuments.read_by",
        Otherwise(
            "tests/core/test_law_asked_alone.py",
            "test_what_others_need_is_asked_together",
            lambda *_: ReadDocuments(),
        ),
    ),
    Rule("where the documents of Karmada lead?", "dialects.karmada.reads:_may_claim"),
    Rule("of Open Cluster Management?", "dialects.ocm.reads:placements_of"),
    Rule("of KubeFleet?", "dialects.kubefleet.reads:_selected_by"),
    Rule("whether others have a say about a binding?", "dialects.karmada.reads:_others"),
    Rule("about a hub's placement?", "dialects.ocm.reads:_others"),
    Rule("which process decides which objects of a first pass?", "core.divided:divide"),
    Rule("which objects a question about all has to ask?", "core.asked:affected_since"),
    Rule(
        "whether an object can be asked alone?",
        "core.asked:AskedAlone.part",
        Otherwise(
            "tests/core/test_law_asked_alone.py",
            "test_batches_are_asked_together_and_other_rebalances_are_not",
            lambda *_: DependsOnOthers("never told"),
        ),
    ),
    Rule("what changed in moments only?", "model.body:keep_present"),
    Rule("what the commit message says?", "core.message:commit_message"),
    Rule(
        "which overrides change a manifest, in which order, in Karmada?",
        "dialects.karmada.overridemanager.overrides:rules_for",
        Otherwise(
            "tests/delivery/test_transports.py",
            "test_an_override_changes_the_manifest_of_its_clusters_only",
            lambda *_: (),
        ),
    ),
    Rule(
        "which rule of an override is for a cluster, in KubeFleet?",
        "dialects.kubefleet.snapshots.overrides:selects",
        Otherwise(
            "tests/dialects/kubefleet/snapshots/test_overrides.py",
            "test_what_is_deleted_stays_so",
            lambda *_: False,
        ),
    ),
    Rule(
        "what a decision of Karmada puts onto a cluster?",
        "dialects.karmada.binding.works:render_binding",
    ),
    Rule(
        "what one of KubeFleet does?",
        "dialects.kubefleet.workgenerator.renderer:render_binding",
        Otherwise(
            "tests/delivery/test_kubefleet_folders.py",
            "test_each_cluster_of_a_placement_has_what_it_selects",
            lambda *_, **__: (),
        ),
    ),
    Rule("what a set of ManifestWorks does?", "dialects.ocm.manifestworkreplicaset.renderer:_work"),
    Rule("in which files a cluster finds it?", "delivery.transports:manifest_path"),
    Rule(
        "which delivered files go?",
        "delivery.pruning:prune",
        Otherwise(
            "tests/delivery/test_pruning.py",
            "test_one_stray_file_goes_from_a_folder_that_is_delivered_to",
            lambda *_: Pruning(),
        ),
    ),
    Rule(
        "how another branch follows the decisions?",
        "shell.passes.branch_delivery:BranchDelivery.prepare",
    ),
    Rule(
        "what a cluster says of its copy, whoever reports it?", "dialects.inventory:CopyReports.of"
    ),
    Rule("whether a copy is healthy?", "model.health:health_of"),
    Rule("what of a live object becomes a file?", "imports.importers:counted_fields"),
    Rule("how live decisions become state?", "imports.adoption:adopt"),
    Rule("what a pass does when the branch moved meanwhile?", "shell.passes.one_pass:Passes._run"),
    Rule("how far a branch is trusted?", "shell.passes.trust:Trust.follow"),
    Rule(
        "whether the signature of a commit counts?",
        "shell.git.signing:_signature",
        Otherwise(
            "tests/shell/git/test_signing.py",
            "test_what_is_not_signed_by_an_allowed_key_says_why",
            lambda line: Signature(line.partition("\0")[0], "anybody", ""),
        ),
    ),
    Rule(
        "on which branch, and for what, a commit of the daemon counts?",
        "shell.passes.trust:CommitPlaces.find_misplaced",
    ),
    Rule("how a branch moves?", "shell.git.publish:publish_together"),
    Rule("what becomes of a branch that lacks objects?", "shell.passes.one_pass:write_lost_again"),
    Rule("what keeps a commit from `git gc --prune=now`?", "shell.git.held_objects:HeldObjects"),
    Rule("what a signal does while a branch moves?", "shell.processes.signals:held_signals"),
    Rule("whose a lock is that was left behind?", "shell.git.publish:_is_ours"),
    Rule("how the files of a checkout follow its branch?", "shell.git.checkout.moves:move_listed"),
    Rule("what becomes of an edited output?", "shell.git.checkout.moves:kept_edits"),
    Rule("what is asked of git without a new process?", "shell.git.repository:KeptProcesses.lent"),
    Rule("what wakes the daemon?", "shell.daemon.watch:Wakeups"),
    Rule("when the daemon counts as ready?", "shell.daemon.events:DaemonHealth.not_ready"),
    Rule("what a forge is told of a commit?", "shell.reports.reporters:_verdict"),
    Rule(
        "who may wake the daemon by a webhook?",
        "shell.http.webhook:RunningHook.check",
        Otherwise(
            "tests/shell/http/test_listener.py",
            "test_a_hook_that_is_not_signed_well_is_refused",
            never,
            {"headers": "X-Gitlab-Token:", "says": "is wrong"},
        ),
    ),
    Rule(
        "whether a reader of the page has its token?",
        "shell.http.page_access:PageAccess._is_known",
        Otherwise(
            "tests/page/test_page_access.py", "test_a_token_counts_beside_a_proxy", lambda *_: True
        ),
    ),
    Rule("who else may see the page?", "shell.http.page_access:PageAccess.refusal"),
    Rule("who answers the page, and for how long?", "shell.http.page_process:PageProcesses.ask"),
    Rule("how a view becomes HTML?", "page.rendering:render"),
    Rule("where an object is placed?", "audit.fleet.placed:placed_on"),
    Rule("what clusters have of it?", "audit.fleet.copies:CopiesOf"),
    Rule(
        "what to rebalance?",
        "audit.gains:choose",
        Otherwise(
            "tests/audit/test_advice.py",
            "test_what_is_advised_is_what_a_pass_does",
            lambda *_, **__: ((), ()),
        ),
    ),
    Rule("what the next passes will do?", "audit.previews.foresight:foresee"),
    Rule("what a change brings about later?", "audit.previews.preview:look_ahead"),
    Rule(
        "why a binding of Karmada waits, and until when?", "dialects.karmada.view.record:waits_of"
    ),
    Rule("what a commit moved, without computing it again?", "audit.history.moves:moves_of_commit"),
    Rule(
        "what each cluster has, followed from commit to commit?",
        "audit.fleet.usage:FleetLoads.follow",
    ),
    Rule("what a worker of a cluster is sent?", "shell.work.proofs:cut_stretch"),
    Rule("what becomes of work that a cluster loses?", "shell.work.executors:results_of"),
    Rule("which worker has a root?", "shell.work.root_workers:RootShares.take"),
    Rule("which commits need not be proven again?", "shell.work.proofs:ProofRecord.find"),
)
"""Who decides what, in the order in which a pass comes to it; modules are below `reconciler`."""

HOLDERS = ("reconciler.", "tests.stories")
"""Where rules are replaced: a test that asks a rule itself proves nothing of the product."""

TESTED = [(rule, rule.otherwise) for rule in RULES if rule.otherwise is not None]


def test_every_test_of_the_table_is_tried() -> None:
    """With the answer that stands beside it; their number may only grow."""
    assert 29 <= len(TESTED)


@pytest.mark.parametrize(("rule", "tried"), TESTED, ids=[rule.symbol for rule, _ in TESTED])
def test_a_rule_that_decides_otherwise_is_noticed(
    rule: Rule, tried: Otherwise, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The test holds as things are, and fails where they are not."""
    run(tried, tmp_path / "as-it-is")
    replace(rule, tried.answer, monkeypatch)

    with pytest.raises(AssertionError):
        run(tried, tmp_path / "otherwise")


def run(tried: Otherwise, folder: Path) -> None:
    """Run a test, in a folder of its own if it asks for one."""
    module = tried.file.removesuffix(".py").replace("/", ".")
    function, arguments = getattr(import_module(module), tried.test), tried.arguments
    if "tmp_path" in inspect.signature(function).parameters:
        folder.mkdir()
        arguments = {**arguments, "tmp_path": folder}
    function(**arguments)


def replace(rule: Rule, answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Put another answer in the place of a rule, wherever the product or a story has it by name."""
    inside, _, path = rule.symbol.partition(":")
    original, (*owners, name) = rule.find(), path.split(".")
    if owners:
        monkeypatch.setattr(f"reconciler.{inside}.{path}", answer)
        return
    for key, module in list(sys.modules.items()):
        if key.startswith(HOLDERS) and vars(module).get(name) is original:
            monkeypatch.setattr(module, name, answer)
