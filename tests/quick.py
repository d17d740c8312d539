"""The fast loop: which tests `make quick` runs, and what fails one of them that starts a process.

Quick are the tests of some rooms, but for those named here: what starts a process or opens a socket
(git, a server, the command itself), and what takes long; and but for what `make test` leaves out.
A test that is quick and starts one all the same fails, in `make test`, too: it is named here, or
does without.
"""

import sys
from collections.abc import Callable
from functools import wraps
from multiprocessing import util
from pathlib import PurePosixPath
from typing import ParamSpec, TypeVar

import pytest

from tests.left_out import is_left_out

ROOMS = (
    "tests/audit",
    "tests/core",
    "tests/crds",
    "tests/delivery",
    "tests/dialects",
    "tests/house",
    "tests/imports",
    "tests/manifests",
    "tests/model",
    "tests/multicluster",
    "tests/page/test_flows.py",
    "tests/rebalance",
    "tests/schedule",
    "tests/test_golden.py",
)

PROCESSES = (
    "tests/audit/fleet/test_trouble.py",
    "tests/audit/test_replay.py",
    "tests/audit/test_workloads.py::test_of_what_clusters_took_nothing_is_said",
    "tests/core/test_message.py::test_user_text_cannot_forge_anything",
    "tests/core/test_reconcile.py::test_one_binding_is_decided",
    "tests/core/test_reconcile.py::test_work_does_not_grow_with_the_repository",
    "tests/delivery/test_branch.py",
    "tests/delivery/test_staged_story.py",
    "tests/delivery/test_story.py",
    "tests/delivery/test_pruning.py::test_a_file_in_the_way_on_another_branch_holds_that_delivery",
    "tests/delivery/test_pruning.py::test_notes_of_a_person_are_not_in_the_way",
    "tests/delivery/test_pruning.py::test_what_comes_into_the_way_later_deletes_nothing",
    "tests/delivery/test_pruning.py::test_what_is_in_the_way_holds_its_transport_only",
    "tests/delivery/test_kubectl.py",
    "tests/house/test_selection.py",
    "tests/house/test_borrowed.py::test_what_is_borrowed_is_listed",
    "tests/house/test_deciders.py",
    "tests/house/test_startup.py",
    "tests/imports/test_recorded.py",
    "tests/manifests/schemas/test_schema.py::test_jsonschema_is_imported_late",
    "tests/manifests/test_identity.py::test_blob_ids_are_those_of_git",
    "tests/model/test_records.py::test_a_type_checker_refuses_wrong_names_and_types",
)
"""Files and tests of these rooms that start processes, or listen."""

LONG = (
    "tests/audit/fleet/test_usage.py::test_following_is_reading_again",
    "tests/dialects/karmada/scheduler/test_divide.py::test_division_is_that_of_the_oracle",
    "tests/dialects/ocm/cel/test_cel.py",
    "tests/imports/test_adoption.py",
    "tests/manifests/test_secrets.py",
)
"""Files and tests of these rooms that take seconds each, and are not left out by `make test`."""

SPAWN = "multiprocessing.spawn"  # ours: of its own way to start processes CPython tells nothing
STARTING = frozenset(
    {
        *("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"),
        *("pty.spawn", "socket.bind", "socket.connect", "subprocess.Popen", SPAWN),
    }
)
"""What CPython tells an audit hook of processes that begin, and of sockets that lead elsewhere."""

P = ParamSpec("P")
T = TypeVar("T")


class Watch:
    """Refuses what starts a process while a quick test runs."""

    def __init__(self) -> None:
        """Begin with nothing that is watched."""
        self.on = False
        self._started: list[str] = []
        sys.addaudithook(self._hear)
        util.spawnv_passfds = _told(util.spawnv_passfds)

    def begin(self, *, is_quick: bool) -> None:
        """Watch the test that comes, or do not."""
        self.on, self._started = is_quick, []

    def check(self) -> None:
        """Fail the test if it went on regardless."""
        if self._started:
            pytest.fail(_said(self._started[0]))

    def _hear(self, event: str, _arguments: object) -> None:
        if self.on and event in STARTING:
            self._started.append(event)
            pytest.fail(_said(event))


def is_quick(test: str) -> bool:
    """Whether a test is in the fast loop, by its id, or any of a file may be, by its path."""
    path, _, name = test.partition("::")
    places = {path, f"{path}::{name.partition('[')[0]}", *map(str, PurePosixPath(path).parents)}
    is_kept = places.isdisjoint((*PROCESSES, *LONG)) and not is_left_out(test)
    return is_kept and not places.isdisjoint(ROOMS)


def _told(start: Callable[P, T]) -> Callable[P, T]:
    """Have audit hooks told before a function runs that starts a process."""

    @wraps(start)
    def start_told(*args: P.args, **kwargs: P.kwargs) -> T:
        sys.audit(SPAWN)
        return start(*args, **kwargs)

    return start_told


def _said(event: str) -> str:
    return f"a quick test starts a process or opens a socket ({event}): name it in tests/quick.py"
