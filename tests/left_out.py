"""What `make test` leaves out and `make test-rest` takes, in part with a share of the cases."""

from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath

LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "laws over drawn worlds, at full length": (
        "tests/audit/previews/test_foresight.py",
        "tests/core/test_law_asked_alone.py",
        "tests/core/inputs/test_loader_law.py",
        "tests/core/test_rebalance_extensions.py",
        "tests/core/test_law_causes.py",
        "tests/core/test_law_causes_of_placements.py",
        "tests/core/test_law_make_before_break.py",
        "tests/core/test_law_memo.py",
        "tests/core/test_law_joined_demands.py",
        "tests/core/test_law_rebalanced.py",
        "tests/core/test_law_staged.py",
        "tests/core/test_law_stated_reads.py",
        "tests/core/test_laws.py",
        "tests/dialects/karmada/test_laws.py",
        "tests/dialects/kubefleet/test_laws.py",
        "tests/dialects/ocm/test_laws.py",
        "tests/dialects/ocm/workstatus/test_status_feedback.py",
        "tests/manifests/text/test_canonical.py",
    ),
    "what each change costs in large fleets": (
        "tests/core/test_each_change_costs_alike.py",
        "tests/page/test_large_fleet.py",
        "tests/shell/git/test_process_counts.py",
    ),
    "limits of the machine and of fields": (
        "tests/cli/test_machine_limits.py",
        "tests/documents/test_limits.py",
        "tests/shell/processes/test_disk.py",
    ),
    "histories and live hubs, whole": (
        "tests/audit/proofs/test_kept_history.py",
        "tests/conformance/test_compared.py",
        "tests/documents/test_installing.py",
        "tests/kube",
    ),
    "answers with each cache there, damaged and gone": (
        "tests/cli/test_kept_answers.py",
        "tests/cli/test_pipelines.py",
        "tests/cli/test_kept_law.py",
    ),
    "kills at each step, and every field mutated": ("tests/crash", "tests/fuzz"),
    "browsers, editors and releases": (
        "tests/crds/test_rules.py",
        "tests/deploy/test_release.py",
        "tests/editors",
        "tests/page/test_browser.py",
    ),
    "daemons in trouble, of many roots, beside workers": (
        "tests/page/test_roots_page.py",
        "tests/shell/daemon/test_roots.py",
        "tests/shell/daemon/test_run.py",
        "tests/shell/git/remotes/test_mirror_troubles.py",
        "tests/shell/http/test_connection_places.py",
        "tests/shell/passes/test_collectors.py",
        "tests/shell/passes/test_exactly_once.py",
        "tests/shell/passes/test_trust_purpose.py",
        "tests/shell/reading/test_last_good.py",
        "tests/shell/work",
    ),
}
"""What they are about, to their rooms and files."""

EVERY_CASE: Mapping[str, tuple[str, ...]] = {
    "daemons, observers, pages and documents as users meet them": (
        "tests/cli/test_moves_made_first.py",
        "tests/cli/test_observe.py",
        "tests/cli/test_operation.py",
        "tests/cli/test_output_branch.py",
        "tests/cli/test_secrets_are_told_nowhere.py",
        "tests/cli/test_trust.py",
        "tests/cli/test_undo.py",
        "tests/cli/test_verify.py",
        "tests/deploy/test_deploy_dask.py",
        "tests/documents/test_readme.py",
        "tests/page/test_layout.py",
        "tests/page/test_page_access.py",
        "tests/page/test_served.py",
        "tests/page/test_views.py",
        "tests/page/test_ways.py",
        "tests/shell/daemon/test_flat.py",
        "tests/shell/daemon/test_serve_branch.py",
        "tests/shell/observation/test_heartbeats.py",
        "tests/shell/passes/test_branches.py",
        "tests/shell/passes/test_one_pass.py",
        "tests/shell/passes/test_trust.py",
        "tests/shell/passes/test_trust_delivery.py",
        "tests/shell/passes/test_used_reports.py",
        "tests/shell/reports/test_proposer.py",
        "tests/test_toys.py",
    ),
}
"""What is left out, too, and then taken with all its cases."""

SHARED = frozenset(place for places in LEFT_OUT.values() for place in places)
PLACES = SHARED | {place for places in EVERY_CASE.values() for place in places}
MARK = "whole"


def is_left_out(test: str) -> bool:
    """Whether `make test` leaves out a test, by its id, or a file or a folder, by its path."""
    return not PLACES.isdisjoint(_places(test.partition("::")[0]))


def is_shared(test: str) -> bool:
    """Whether `make test-rest` takes a share of the cases of a test, by its id."""
    return not SHARED.isdisjoint(_places(test.partition("::")[0]))


@cache
def _places(path: str) -> tuple[str, ...]:
    """Return a file, and the folders that it is in."""
    place = PurePosixPath(path)
    return tuple(map(str, (place, *place.parents)))


def summary() -> str:
    """Return in a sentence what is left out."""
    return f"left to make test-rest and make test-all: {'; '.join((*LEFT_OUT, *EVERY_CASE))}"
