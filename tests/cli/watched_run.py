"""Runs a verb in a process that writes down each socket and each program that it starts.

`python watched_run.py RECORD VERB...`; audit events of Python cannot be switched off by what runs.
"""

import json
import os
import sys
from pathlib import Path

SOCKETS = ("socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo")
PROGRAMS = ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system")


def watch(record: Path) -> None:
    """Write down what happens from now on."""
    found = record.open("a", encoding="utf-8")

    def heard(event: str, arguments: tuple[object, ...]) -> None:
        if event in SOCKETS:
            print(json.dumps(["socket", event]), file=found, flush=True)
        elif event in PROGRAMS:
            command = arguments[1] if event == "subprocess.Popen" else arguments
            words = list(map(str, command)) if isinstance(command, list | tuple) else [str(command)]
            print(json.dumps(["program", *words]), file=found, flush=True)

    sys.addaudithook(heard)


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
    sys.argv[0] = os.fspath(Path(sys.executable))
    from reconciler.cli.main import main

    main(sys.argv[2:])
