"""What CI takes of the slow suites: every test, with a share of its cases; `make test-all` has all.

The share is the same in every run: of the cases of a test, in the order in which they stand, the
first of every few; of a law the first of its drawn worlds.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from tests.left_out import is_shared

BOUNDED = "BOUNDED"
"""Where this is set in the environment, tests are bounded."""

OTHER_EXAMPLES = "LAW_SEED"
"""Where this is set, laws are held with the examples of `--hypothesis-seed`, else with the same."""

ONE_IN = 6
"""Of how many cases one is taken where a share is, and of how many drawn worlds."""

CASES: Mapping[str, int] = {
    "tests/cli/test_undo.py::test_undo_and_its_undo_bring_assignments_back": 3,
    "tests/cli/test_tree.py::test_no_verb_takes_a_copy_for_the_object": 4,
    "tests/cli/test_kept_answers.py::test_answers_are_the_same": 9,
    "tests/cli/test_json.py::test_every_field_is_documented": 4,
    "tests/cli/test_printing.py::test_each_question_says_what_it_does": 4,
    "tests/cli/test_init.py::test_any_choice_is_a_fleet_without_faults": 4,
    "tests/conformance/test_vectors.py::test_vectors_pass_through_the_front_door": 4,
    "tests/core/test_each_change_costs_alike.py::test_a_change_costs_alike_in_a_larger_fleet": 40,
    "tests/core/test_law_room.py::test_a_cluster_never_gets_more_than_it_holds": 2,
    "tests/core/test_law_room.py::test_where_all_fits_all_is_placed": 2,
    "tests/crds/test_judged_rules.py::test_functions_answer_as_the_expressions_do": 4,
    "tests/delivery/test_pruning.py::test_what_is_in_the_way_holds_its_transport_only": 3,
    "tests/documents/test_readme.py::test_a_page_is_true_beside_its_daemon": 2,
    "tests/documents/test_readme.py::test_a_page_shows_what_commands_print": 2,
    "tests/house/test_startup.py::test_a_valid_repository_is_read_by_the_quick_validator": 4,
    "tests/page/test_layout.py::test_no_view_is_wider_than_its_window": 3,
    "tests/page/test_served.py::test_each_view_is_a_whole_page_of_the_branch": 4,
    "tests/page/test_page_access.py::test_whom_the_proxy_names_is_answered": 4,
    "tests/page/test_views.py::test_every_view_says_what_is_wrong": 4,
    "tests/test_stories.py::test_a_story_is_true": 5,
    "tests/trust/test_sample.py::test_nothing_of_strangers_is_decided_and_all_of_people_is": 4,
}
"""Slow tests of other rooms, to that of how many cases one is taken; what a change costs is counted
for all changes of an API at once, so it is the first API that is counted.
"""


def is_bounded() -> bool:
    """Whether this run takes a share only."""
    return BOUNDED in os.environ


def environment_of_all() -> dict[str, str]:
    """Return the environment of this process, for one whose tests are not bounded."""
    return {name: said for name, said in os.environ.items() if name != BOUNDED}


def examples(count: int) -> int:
    """Return how many worlds a law is held with that has so many at full length."""
    return -(-count // ONE_IN) if is_bounded() else count


def one_in(test: str) -> int:
    """Return of how many cases of a test, by its id without parameters, one is taken."""
    return CASES.get(test, ONE_IN if is_shared(test) else 1)


def share_of(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the cases that are taken, and the others, each in their order."""
    seen: Counter[str] = Counter()
    taken: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        (others if seen[test] % one_in(test) else taken).append(item)
        seen[test] += 1
    return taken, others


def summary() -> str:
    """Return in a sentence what is not taken."""
    return f"left to make test-all: most cases of slow tests, {ONE_IN - 1} of {ONE_IN} drawn worlds"
