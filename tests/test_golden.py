"""The user stories file by file, and the examples of documents, each with its verdict."""

from pathlib import Path

import pytest

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.shell.resources import load_schemas
from tests.golden import case_of, files_in, outputs_of, play, steps, stories


@pytest.mark.parametrize("story", stories(), ids=lambda story: f"{story.parent.name}-{story.name}")
def test_story_goes_as_told(story: Path) -> None:
    """A pass over each `before/` leaves exactly `after/`, and commits what `commit.txt` says."""
    expected = [
        (step, files_in(step / "after"), files_in(step).get("commit.txt", ""))
        for step in steps(story)
    ]

    assert expected == list(play(story))


@pytest.mark.parametrize("story", stories(), ids=lambda story: f"{story.parent.name}-{story.name}")
def test_steps_begin_where_the_one_before_ended(story: Path) -> None:
    """But for edits by hand, which `case.yaml` announces."""
    outputs = None
    for step in steps(story):
        if outputs is not None and not case_of(step).get("edited"):
            assert outputs == outputs_of(files_in(step / "before"))
        outputs = outputs_of(files_in(step / "after"))


EXAMPLES = Path(__file__).parent.parent / "fixtures" / "examples"

VALID = [
    "binding-status-misspelt",  # only a status, which is open; the name is not one that we read
    "fleet-binding",
    "placement-disaster-recovery",
    "placement-least-cpu",
    "placement-most-cpu",
    "placement-of-a-namespace",
    "placement-steady-and-scores",  # in the spelling of its time
    "policy-one-group",
    "policy-three-groups",
    "rebalancer",
    "rebalancer-with-status",
    "schedule-trigger",
    "scores",
    "scores-backup",
    "scores-primary",
]
REFUSED = {
    "binding-abridged-rebalanced": (8, "yaml-syntax"),  # a line of dots stands for the rest
    "binding-abridged-spec": (8, "yaml-syntax"),
    "binding-abridged-status": (8, "yaml-syntax"),
    "policy-rejected-alternative": (15, "schema-unknown-field"),  # never made it into the API
    "scores-misnamed": (17, "schema-required"),  # a score must have a name
    "scores-unfilled": (5, "identity-namespace"),  # a blank to be filled in
}


def verdict(name: str) -> list[tuple[int, str]]:
    """Line and rule of each fault of an example."""
    path = f"{name}.yaml"
    data = (EXAMPLES / path).read_bytes()
    inspection = validate_file(path, "", data, Rules(load_schemas(), ADMISSIONS, KINDS))
    return [(broken.fault.line, broken.fault.rule) for broken in inspection.broken]


@pytest.mark.parametrize("name", VALID)
def test_whole_examples_are_valid(name: str) -> None:
    """What the documents show as a manifest is one."""
    assert [] == verdict(name)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_abridged_and_rejected_examples_are_refused(name: str) -> None:
    """What the documents abridge, leave open or reject is refused where it stands."""
    assert [REFUSED[name]] == verdict(name)


def test_every_example_has_a_verdict() -> None:
    """No example is passed over."""
    found = {path.stem for path in EXAMPLES.glob("*.yaml")}

    assert found == {*VALID, *REFUSED}
