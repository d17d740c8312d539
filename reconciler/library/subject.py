"""An object at a revision, and what its history says of it."""

from collections.abc import Collection, Iterator
from datetime import datetime

from reconciler.audit.fleet.placed import carriers_of, may_concern, places_of
from reconciler.audit.history.decisions import Event, history_of
from reconciler.audit.named_object import decided_key, find_object, spelled
from reconciler.audit.reasons import Why, explain_why
from reconciler.audit.replay import Replay
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass, replace
from reconciler.model.world import World
from reconciler.shell.git.command import HistoryMissing
from reconciler.shell.git.history import cut_off
from reconciler.shell.reading.revisions import GitRevisions
from reconciler.shell.reading.sources import branch_files

PIECE = 64  # commits whose changes are read together


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An object at a revision.

    Attributes:
        word: What the person wrote.
        named: The object that it names.
        key: What decisions about it bear: of a workload its binding.
        world: The world at that revision.
        head: Full hex id of the revision.
        revisions: Where earlier worlds come from.
        replay: What computes passes again.
    """

    word: str
    named: ObjectKey
    key: ObjectKey
    world: World
    head: str
    revisions: GitRevisions
    replay: Replay

    def carriers(self) -> str:
        """Return which placements carry the object along, `""` if none does."""
        return ", ".join(map(spelled, carriers_of(self.world, self.named)))

    def why(self, clock: datetime) -> Why:
        """Explain where it is; where the clone is shallow, by what there is of its history.

        Args:
            clock: The moment of which later ones are foreseen, aware UTC.
        """
        cut = ""
        try:
            events = self.events()
        except HistoryMissing as error:
            cut, events = str(error), self.events(whole=False)
        explained = explain_why(
            self.key,
            self.world,
            events,
            self.replay,
            named=self.named,
            clock=clock,
            elsewhere=branch_files(self.revisions.repository, self.world),
        )
        return replace(explained, note=cut) if cut and explained.then is None else explained

    def events(self, *, whole: bool = True, first: int = 1) -> Iterator[Event]:
        """Return what happened to it, the newest first.

        Args:
            whole: Whether a history that a shallow clone cuts off is refused.
            first: How many of them will surely be asked for.

        Raises:
            HistoryMissing: It is cut off.
        """
        lineage = self.revisions.lineage(self.head, whole=whole)
        touched = self.touching(whole=whole)
        return history_of(self.key, lineage, touched, self.replay, first=first)

    def touching(self, *, whole: bool) -> Iterator[str]:
        """Yield the revisions that may have changed where the object is, the newest first."""
        places = places_of(self.key, self.revisions.layout)
        ends = cut_off(self.revisions.repository)  # what these changed is unknown
        listed = self.revisions.commits(self.head, paths=places, whole=whole)
        listed = [commit for commit in listed if commit.revision not in ends]
        for start in range(0, len(listed), PIECE):
            piece = listed[start : start + PIECE]
            self.revisions.prepare(piece)
            for commit in piece:
                changes = self.revisions.changes(commit)
                if may_concern(self.key, changes, places, self.revisions.texts):
                    yield commit.revision


def subject_at(
    revisions: GitRevisions,
    head: str,
    word: str,
    namespace: str,
    *,
    also: Collection[tuple[str, str]] = (),
    replay: Replay | None = None,
) -> Subject:
    """Find the object that a person names at a commit; it may be gone by then.

    Args:
        revisions: Where it is looked for.
        head: Full hex id of the commit.
        word: What the person wrote.
        namespace: In which it is, if the word does not say.
        also: (group, kind) of what stands for itself though nothing is decided about it.
        replay: What answered for other objects of the same history.

    Raises:
        UsageError: There is no such kind, or nothing is decided about that kind.
    """
    world = revisions.loader.load(head)
    named = find_object(world, word, namespace)
    return Subject(
        word=word,
        named=named,
        key=named if (named.group, named.kind) in also else decided_key(world, named),
        world=world,
        head=head,
        revisions=revisions,
        replay=replay or Replay(revisions),
    )
