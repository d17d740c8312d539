"""What a pass brings runs to, for people: stages that begin, wait for an approval, or end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.manifests.identify import Identity, identify
from reconciler.manifests.paths import folder_of
from reconciler.manifests.text.reader import read
from reconciler.model.identity import ObjectKey
from reconciler.model.upstream_event import OutputChange
from reconciler.model.world import World

RUNS = frozenset(kind for dialect in DIALECTS for kind in dialect.approvable)
FOLDERS = tuple(sorted(f"{folder_of(*kind)}/" for kind in RUNS))


@dataclass(frozen=True, slots=True, order=True)
class RunProgress:
    """What became of one run, or of one stage of it: a clause that its name precedes."""

    key: ObjectKey
    clause: str

    def __str__(self) -> str:
        scope = f"{self.key.namespace}/" if self.key.namespace else ""
        return f"{self.key.kind} {scope}{self.key.name}: {self.clause}"


def progress_in(world: World, outcome: Outcome) -> tuple[RunProgress, ...]:
    """Return what a pass brings runs to, by run, of each in the order in which it happens."""
    folders = tuple(f"{world.output_root}/{one}" for one in FOLDERS)
    written = (one for one in outcome.changes if isinstance(one, WriteFile))
    return tuple(
        step for one in written if one.path.startswith(folders) for step in _progress(world, one)
    )


def subject_of_runs(progress: Sequence[RunProgress]) -> str:
    """Return in one line what became of a run, without why and how; of several how many went on."""
    runs = {one.key for one in progress}
    if len(runs) > 1:
        return f"Go on with {len(runs)} runs"
    clauses = (one.clause.partition(": ")[0] for one in progress)
    return f"Run {progress[0].key.name}: {', '.join(clauses)}"


def _progress(world: World, written: WriteFile) -> Iterator[RunProgress]:
    """Yield what became of the run whose status file is written."""
    body = read(written.content.encode(), written.path).documents[0].body
    found = identify(body, world.known)
    dialect = dialect_of(found.group) if isinstance(found, Identity) else None
    if dialect is None or not isinstance(found, Identity):
        return
    key = ObjectKey(found.group, found.kind, found.namespace, found.name)
    present = world.outputs.get(key)
    change = OutputChange(key=key, before={} if present is None else present.body, after=body)
    for about, event in dialect.view().events(change):
        yield RunProgress(about, event.message[:1].lower() + event.message[1:])
