"""docs/library.md: its examples run, its names are those of the package, and its types hold."""

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import reconciler
from tests.shell.fleet import ROOT, new_fleet

PAGE = (ROOT / "docs/library.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout of the example, one after the other, with the output that is shown."""
    fleet = new_fleet(tmp_path / "fleet")
    monkeypatch.chdir(fleet.folder)
    blocks = re.findall(r"```pycon\n(.*?)```", PAGE, re.DOTALL)
    parser = doctest.DocTestParser()
    test = parser.get_doctest("\n".join(blocks), {}, "library", "docs/library.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    runner.run(test, out=said.append)

    assert len(blocks) == 6
    assert (0, len(test.examples)) == (runner.failures, runner.tries), "".join(said)


@pytest.mark.parametrize("name", [name for name in reconciler.__all__ if name != "__version__"])
def test_what_is_offered_is_there_and_has_a_docstring(name: str) -> None:
    """Each name is imported when it is asked for."""
    assert (getattr(reconciler, name).__doc__ or "").strip()


def test_help_tells_of_each_what_it_is() -> None:
    """In a line of the package's own; no two classes have one sentence."""
    names = [name for name in reconciler.__all__ if name != "__version__"]
    told = dict(re.findall(r"^(\w+): (.+)$", reconciler.__doc__ or "", re.MULTILINE))
    sentences = [str(getattr(reconciler, name).__doc__).partition("\n")[0] for name in names]

    assert names == sorted(told)
    assert sorted(set(sentences)) == sorted(sentences)


def test_a_repository_is_opened_by_what_the_page_names() -> None:
    """No parameter is for us alone."""
    parameters = inspect.signature(reconciler.open_repository).parameters

    assert ["directory", "output_root", "output_branch"] == list(parameters)


def test_an_unknown_name_is_no_attribute() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = reconciler.nothing


def test_asking_is_what_the_commands_do() -> None:
    """The verbs open repositories by the library and by nothing else."""
    composed = {"Loader(", "GitRevisions(", "open_sides("}
    verbs = (ROOT / "reconciler/cli").rglob("*.py")
    own = {
        path.name
        for path in verbs
        if any(one in path.read_text(encoding="utf-8") for one in composed)
    }

    assert {"demo.py"} == own, "it makes its own"


PROGRAM = """\
import reconciler

fleet = reconciler.open_repository(".")
fleet.no_such_thing
"""


def test_a_program_sees_the_types(tmp_path: Path) -> None:
    """What a stranger's type checker says, with nothing of ours configured."""
    (tmp_path / "program.py").write_text(PROGRAM)

    told = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    expected = 'program.py:4: error: "FleetRepository" has no attribute "no_such_thing"'
    assert f"{expected}  [attr-defined]\n" == told
