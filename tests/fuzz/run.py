"""Runs mutations until time is up, or as many as asked for, and counts what holds."""

import contextlib
import io
import json
import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from pathlib import Path

from structlog.testing import capture_logs

from reconciler.audit.findings import finding_of
from reconciler.audit.fleet.tree import tree_of
from reconciler.audit.fleet.usage import usage_of
from reconciler.audit.previews.preview import preview
from reconciler.audit.previews.wording import Heading, preview_markdown
from reconciler.audit.references import check_references
from reconciler.cli.main import run
from reconciler.core.changes import Outcome
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.core.message import commit_message
from reconciler.core.reconcile import Memo, reconcile
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.reader import read
from reconciler.model.world import World
from reconciler.page.timeline import plan_page
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.resources import load_schemas
from tests.builders import after
from tests.fuzz.corpus import APART, Repository, repositories
from tests.fuzz.mutations import Mutation, Spot, ordered
from tests.shell.fleet import Clock, new_passes
from tests.shell.repositories import NOW, Checkout, new_checkout
from tests.stories import Story, applied

NEVER = {"internal-error", "cluster-unreadable", "score-unreadable", "set-unreadable"}
"""Rules of faults that a pass must not find in what `validate` accepts."""
OWN = re.compile(rf"/{APART}(/|\.yaml|-)")  # outputs of bystanders
LATER = after(60)
Files = Mapping[str, str]


@lru_cache(maxsize=2000)
def inspected(path: str, data: bytes) -> FileValidation:
    """A file as a pass reads it."""
    is_output = path.startswith("status/")
    admissions = {} if is_output else ADMISSIONS
    rules = Rules(load_schemas(), admissions, KINDS, status_only=is_output)
    return validate_file(path, blob_id(data, like=""), data, rules)


@dataclass(frozen=True, eq=False)
class Base:
    """A repository after a pass that settled it; the mutation comes on top.

    `calm` are the files after a pass over what nobody mutated. `memo` is shared by all mutations.
    """

    told: Story
    world: World
    outcome: Outcome
    calm: Files
    memo: Memo


@lru_cache(maxsize=4)
def base_of(repository: Repository) -> Base:
    """Settle a repository."""
    told = Story({path: _text(data) for path, data in repository.files.items()})
    told.run(0)
    memo, world = Memo(), told.world()
    outcome = reconcile(world, LATER, memo=memo)
    return Base(told, world, outcome, applied(told.files, outcome), memo)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def broken_laws(mutation: Mutation) -> Iterator[str]:
    """Yield the laws that a mutation breaks; an exception is the worst of them."""
    base = base_of(mutation.repository)
    files = {**base.told.files, mutation.path: _text(mutation.data)}
    told = Story(files, trees=dict(base.told.trees))
    world = told.world()
    outcome = reconcile(world, LATER)
    told.files = applied(files, outcome)
    yield from _judged_alike(mutation, world, outcome)
    if mutation.path != "reconciler.yaml":
        yield from _undisturbed(base, files, told.files)
    yield from _readable(files, told.files)
    if reconcile(world, LATER, memo=base.memo) != outcome:
        yield "incremental: a pass with a memo comes to something else"
    second = told.world()
    if reconcile(second, LATER, memo=base.memo).changes:
        yield "settled: a second pass at the same moment changes something"
    reconcile(second, after(100_000), memo=base.memo)
    _ask(base, world, outcome)


def _judged_alike(mutation: Mutation, world: World, outcome: Outcome) -> Iterator[str]:
    """What `validate` accepts is decoded, and the reverse."""
    found = inspected(mutation.path, _text(mutation.data).encode())
    said = {one.fault.rule for one in found.broken}
    for fault in outcome.faults:
        if fault.rule in NEVER and fault.rule not in said:
            yield f"judged alike: accepted, yet a pass says {fault.rule}: {fault.message}"
    if found.broken or not found.documents or mutation.path.startswith("status/"):
        return
    named = {fault.path for fault in world.faults}
    taken = {
        manifest.origin.path for manifest in (*world.inputs.values(), *world.feedback.values())
    }
    if mutation.path not in taken | named:
        yield "judged alike: accepted, yet not in the world"


def _undisturbed(base: Base, files: Files, result: Files) -> Iterator[str]:
    """Bystanders are as they were, once the same time has gone by."""
    for path in sorted(result.keys() | base.calm.keys()):
        if OWN.search(path) and path in files and result.get(path) != base.calm.get(path):
            yield f"undisturbed: {path} of a bystander changed"


def _readable(files: Files, result: Files) -> Iterator[str]:
    """What a pass writes, the next one reads."""
    for path, data in result.items():
        if path.startswith("status/") and data != files.get(path):
            for one in inspected(path, data.encode()).broken:
                yield f"readable: {path} as written: {one.fault.message} ({one.fault.field})"


def _ask(base: Base, world: World, outcome: Outcome) -> None:
    """Ask every question; none may raise."""
    texts = dict.fromkeys(world.blobs, b"")
    list(map(finding_of, outcome.faults))
    if world.is_complete:
        check_references(world, texts)
    found = preview(base.world, world, LATER, baseline=base.outcome, memo=base.memo)
    heading = Heading("plan", "a mutation")
    preview_markdown(found, heading)
    plan_page(found, heading)
    usage_of(world)
    for key in world.inputs:
        tree_of(world, key, {}, LATER)
    commit_message(
        outcome,
        world,
        now=LATER,
        version="0",
        editors=[],
        reruns=[],
    ).encode()
    asked = frozenset(key for key in (*world.outputs, *world.inputs) if APART not in str(key))
    answers = reconcile(world, LATER, asked=asked, memo=base.memo)
    for explain in answers.explanations.values():
        explain()


EVERY = 12
PIECE = 1500  # mutations; those of one repository are run together, since it is settled once


@dataclass
class Tally:
    """What was tried, and what was broken: a line a mutation."""

    tried: int = 0
    shapes: set[str] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Add another one to this."""
        self.tried += other.tried
        self.shapes |= other.shapes
        self.broken += other.broken


def try_all(spots: Iterable[Spot], *, until: float = float("inf")) -> Tally:
    """Try mutations, those of one repository one after the other, until a moment of the clock."""
    tally = Tally()
    for spot in sorted(spots, key=lambda one: (one.repository.name, one.rank)):
        if time.monotonic() > until:
            break
        tally.tried += 1
        tally.shapes.add(spot.shape)
        tally.broken += laws_broken_by(spot.make())
    return tally


def laws_broken_by(mutation: Mutation) -> list[str]:
    """Return what a mutation breaks, each as a line that says how to find it again."""
    try:
        return [f"{mutation}: {law}" for law in broken_laws(mutation)]
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what we look for
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        where = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
        return [f"{mutation}: raised {type(error).__name__}: {error} ({where})"]


def run_share(worker: int, workers: int, seconds: float) -> Tally:
    """Run every so many-th piece of all mutations, until time is up."""
    until = time.monotonic() + seconds
    spots = ordered(repositories())
    tally = Tally()
    for start in range(worker * PIECE, len(spots), workers * PIECE):
        if time.monotonic() > until:
            break
        tally.add(try_all(spots[start : start + PIECE], until=until))
    return tally


@lru_cache(maxsize=1)
def sample() -> Sequence[Spot]:
    """Return the mutations of every so many-th repository, in an order that is always the same."""
    return ordered(repositories()[::EVERY])


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
