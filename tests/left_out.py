"""What `make test` leaves out, `make test-rest` takes a share of, and why each part takes long."""

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

PLACES = frozenset(place for places in LEFT_OUT.values() for place in places)
MARK = "whole"


def is_left_out(test: str) -> bool:
    """Whether `make test` leaves out a test, by its id, or a file or a folder, by its path."""
    return _is_listed(test.partition("::")[0])


@cache
def _is_listed(path: str) -> bool:
    place = PurePosixPath(path)
    return not PLACES.isdisjoint(map(str, (place, *place.parents)))


def summary() -> str:
    """Return in a sentence what is left out."""
    return f"left to make test-rest and make test-all: {'; '.join(LEFT_OUT)}"
