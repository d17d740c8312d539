"""How the process of a command ends: others are waited for, and what it holds is left."""

import subprocess
import sys

import pytest

from tests.shell.fleet import ROOT, process_environment

COMMAND = """
import sys, threading, weakref
from reconciler.cli import main

class Held:
    def __del__(self, say=print):
        say("tidied", flush=True)

def others():
    threading.main_thread().join()
    print("thread ended")

def run(arguments):
    main.held = Held()
    weakref.finalize(main.held, print, "finalized")
    threading.Thread(target=others).start()
    print("printed")
    return code(arguments)

code = main.run
main.run = run
main.main(sys.argv[1:])
"""


COMPLETION = {
    "_RECONCILER_COMPLETE": "bash_complete",
    "COMP_WORDS": "reconciler versi",
    "COMP_CWORD": "1",
}


@pytest.mark.parametrize(
    ("arguments", "variables", "code"),
    [
        pytest.param(("version",), {}, 0, id="answered"),
        pytest.param(("fetch",), {}, 2, id="asked-wrongly"),
        pytest.param((), COMPLETION, 0, id="completed"),
    ],
)
def test_threads_and_exit_handlers_end_and_the_rest_is_left(
    arguments: tuple[str, ...], variables: dict[str, str], code: int
) -> None:
    """Objects are not visited once more, all that was printed arrives, and the code is kept."""
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=ROOT,
        env={**process_environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )

    assert code == ended.returncode
    assert ended.stdout.startswith("printed\n")
    assert ["thread ended", "finalized"] == ended.stdout.splitlines()[-2:]
    assert "tidied" not in ended.stdout
