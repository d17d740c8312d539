"""Programs that import the library are checked against its types."""

import subprocess
import sys
from pathlib import Path

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
