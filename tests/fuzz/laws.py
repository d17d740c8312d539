"""What must hold whatever one file of a repository holds."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from reconciler.audit.findings import finding_of
from reconciler.audit.fleet.tree import tree_of
from reconciler.audit.fleet.usage import usage_of
from reconciler.audit.previews.preview import preview
from reconciler.audit.previews.wording import Heading, preview_markdown
from reconciler.audit.references import check_references, is_complete
from reconciler.core.changes import Outcome
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.core.message import commit_message
from reconciler.core.reconcile import Memo, reconcile
from reconciler.manifests.paths import blob_id
from reconciler.model.world import World
from reconciler.page.timeline import plan_page
from reconciler.shell.resources import load_schemas
from tests.builders import after
from tests.fuzz.corpus import APART, Repository
from tests.fuzz.mutations import Mutation
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
    if is_complete(world):
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
