"""What a person who knows kubectl is told when a verb of it is not one here."""

import re
from pathlib import Path

import pytest

from reconciler.cli.main import ANSWERS, ELSEWHERE, VERBS
from tests.cli.history import answer
from tests.shell.repositories import Checkout

KUBECTL = """
annotate api-resources api-versions apply attach auth autoscale certificate cluster-info
completion config cordon cp create debug delete describe diff drain edit events exec explain
expose get kustomize label logs options patch plugin port-forward proxy replace rollout run
scale set taint top uncordon version wait
"""
KARMADACTL = "addons deinit init interpret join promote register token unjoin unregister"
NAMED = re.compile(r"reconciler ((?:--)?[a-z-]+)")


@pytest.mark.parametrize("verb", [*KUBECTL.split(), *KARMADACTL.split()])
def test_every_verb_of_theirs_is_one_of_ours_or_has_an_answer(verb: str) -> None:
    """By name, not by what looks like it."""
    assert 1 == (verb in VERBS) + (verb in ANSWERS) + (verb in ELSEWHERE)


@pytest.mark.parametrize("verb", sorted(ANSWERS))
def test_an_answer_is_a_sentence_and_names_verbs_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    """On one line, whatever stands behind the verb; the exit code is that of wrong usage."""
    code, out, err = answer(Checkout(tmp_path), capsys, verb, "deployment/shop", "-f", "x.yaml")

    assert (2, "", f'reconciler: there is no verb "{verb}"; {ANSWERS[verb]}\n') == (code, out, err)
    assert set(NAMED.findall(ANSWERS[verb])) <= {*VERBS, "--help"}


@pytest.mark.parametrize(
    ("verb", "part"),
    [
        pytest.param("delete", "remove its file", id="delete"),
        pytest.param("apply", "commit it", id="apply"),
        pytest.param("rollout", "git revert", id="rollout"),
        pytest.param("edit", "open its file", id="edit"),
    ],
)
def test_the_file_to_edit_is_said(verb: str, part: str) -> None:
    """Not only that there is no such verb."""
    assert part in ANSWERS[verb]
