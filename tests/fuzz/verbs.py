"""The same mutations through the real command and the real daemon, on real repositories."""

import contextlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from structlog.testing import capture_logs

from reconciler.cli.main import run
from reconciler.manifests.text.reader import read
from reconciler.shell.daemon.serve_branch import Daemon
from tests.fuzz.mutations import Spot
from tests.shell.fleet import Clock, new_passes
from tests.shell.repositories import NOW, Checkout, new_checkout

SETTLED, NEXT = "2026-11-20T12:00:00Z", "2026-11-20T12:01:00Z"
VERBS = (
    ("validate",),
    ("validate", "-o", "json"),
    ("plan", "--now", NEXT),
    ("reconcile", "--now", NEXT),
    ("reconcile", "--dry-run", "--now", "2026-11-21T12:01:00Z"),
    ("get", "rb,crb", "-A", "-o", "wide"),
    ("get", "clusters", "-o", "json"),
    ("top", "clusters"),
    ("events", "--limit", "20"),
    ("verify",),
)
OF_OBJECTS = ("why", "tree", "history", "blame")


def broken_by_verbs(spot: Spot, folder: Path) -> Iterator[str]:
    """Yield each verb that does not answer, or answers with a mistake of ours."""
    fleet = _settled(spot, folder)
    mutation = spot.make()
    _write(fleet, mutation.path, mutation.data)
    named = list(_named(mutation.path, mutation.data))
    verbs = [*VERBS, *((verb, name) for verb in OF_OBJECTS for name in named)]
    for verb in verbs:
        if verb[0] == "reconcile":
            _commit(fleet)
        code, said = _answer(folder, verb)
        if code not in (0, 1, 2) or "bug in reconciler" in said:
            yield f"{mutation}: {' '.join(verb)} ended with {code}: {said[-300:]}"


def _answer(folder: Path, verb: tuple[str, ...]) -> tuple[int, str]:
    """Run a verb in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["-C", str(folder), *verb])
    return code, out.getvalue() + err.getvalue()


def _settled(spot: Spot, folder: Path) -> Checkout:
    """A checkout of the repository that is mutated, after a pass."""
    files = spot.repository.files
    fleet = new_checkout(folder, {path: data.decode() for path, data in files.items()})
    _answer(folder, ("reconcile", "--now", SETTLED))
    return fleet


def _write(fleet: Checkout, path: str, data: bytes) -> None:
    (fleet.folder / path).write_bytes(data)


def _commit(fleet: Checkout) -> None:
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--allow-empty", "--message=Mutate a file")


def _named(path: str, data: bytes) -> Iterator[str]:
    """The objects of a file as arguments of a verb."""
    for document in read(data, path).documents[:2]:
        metadata = document.body.get("metadata")
        kind, name = document.body.get("kind"), None
        if isinstance(metadata, dict):
            name = metadata.get("name")
        if isinstance(kind, str) and isinstance(name, str) and "\x00" not in f"{kind}{name}":
            yield f"{kind.lower()}/{name}"


@dataclass
class Person:
    """Edits and commits while a daemon serves; says stop when there is nothing left to do."""

    steps: Iterator[Callable[[], None]]
    problem: str = ""
    done: int = field(default=0)

    def wait(self, timeout_seconds: float) -> bool:
        """Take the next step."""
        del timeout_seconds
        step = next(self.steps, None)
        if step is not None:
            step()
            self.done += 1
        return step is not None


def broken_by_daemon(spots: Iterable[Spot], folder: Path) -> Iterator[str]:
    """Serve one repository while its files are mutated; yield what ends or fails a pass."""
    listed = list(spots)
    fleet = _settled(listed[0], folder)
    clock = Clock(NOW + timedelta(hours=1))

    def mutate(spot: Spot) -> Callable[[], None]:
        def step() -> None:
            clock.moment += timedelta(seconds=1)
            for path, data in spot.repository.files.items():
                _write(fleet, path, data)
            _write(fleet, spot.path, spot.make().data)
            _commit(fleet)

        return step

    person = Person(iter([mutate(spot) for spot in listed]))
    with capture_logs() as logs:
        Daemon(passes=new_passes(folder, clock), wakeups=person, poll_seconds=1).run()
    if person.done != len(listed):
        yield f"the daemon ended after {person.done} of {len(listed)} mutations"
    for entry in logs:
        if "trace" in entry or entry["event"].startswith("pass failed"):
            yield f"daemon: {json.dumps(entry, default=str)}"
