"""What a question about one object is asked of: its key, its world, and its history."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconciler.cli.namespace_option import namespace_option
from reconciler.cli.object_words import object_argument
from reconciler.cli.options import Option, at_option, output_option, output_root_option

if TYPE_CHECKING:
    from collections.abc import Collection

    from reconciler.audit.decision_history import Event
    from reconciler.audit.replay import Replay
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World
    from reconciler.shell.revisions import GitRevisions

SEVERAL = 8  # events that `history` and `blame` look at, most often
PIECE = 64  # commits whose changes are read together


@dataclass(frozen=True, slots=True)
class AskedObject:
    """What a person asks about: an object, where it is, as at which revision; how to answer."""

    word: str
    namespace: str
    output: str
    at: str
    output_root: str


def about_object(*formats: str, metavar: str = "OBJECT", behind: str | None = None) -> Option:
    """Return the argument and the options of a verb about one object; it gets them as `asked`.

    Args:
        formats: Of `-o`, the first by default.
        metavar: What the object is called in the help.
        behind: Name of one more word that may follow; the verb gets it, too.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def verb(*arguments: object, **named: Any) -> int:
            asked = AskedObject(
                **{field.name: named.pop(field.name) for field in fields(AskedObject)}
            )
            return function(*arguments, asked=asked, **named)

        options: list[Option] = [
            namespace_option,
            output_option(*formats),
            at_option,
            output_root_option,
        ]
        decorated: Callable[..., int] = verb
        for option in reversed([object_argument(metavar, behind=behind), *options]):
            decorated = option(decorated)
        return decorated

    return decorate


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
    named: "ObjectKey"
    key: "ObjectKey"
    world: "World"
    head: str
    revisions: "GitRevisions"
    replay: "Replay"

    def carriers(self) -> str:
        """Return which placements carry the object along, `""` if none does."""
        from reconciler.audit.named_object import spelled
        from reconciler.audit.placed import carriers_of

        return ", ".join(map(spelled, carriers_of(self.world, self.named)))

    def events(self, *, whole: bool = True, first: int = 1) -> "Iterator[Event]":
        """Return what happened to it, the newest first.

        Args:
            whole: Whether a history that a shallow clone cuts off is refused.
            first: How many of them will surely be asked for.

        Raises:
            HistoryMissing: It is cut off.
        """
        from reconciler.audit.decision_history import history_of

        lineage = self.revisions.lineage(self.head, whole=whole)
        touched = self.touching(whole=whole)
        return history_of(self.key, lineage, touched, self.replay, first=first)

    def touching(self, *, whole: bool) -> "Iterator[str]":
        """Yield the revisions that may have changed where the object is, the newest first."""
        from reconciler.audit.placed import may_concern, places_of
        from reconciler.shell.git.revisions import cut_off

        places = places_of(self.key, self.world.output_root)
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


def open_subject(directory: Path, asked: AskedObject) -> Subject:
    """Find the object that a person names.

    Raises:
        UsageError: There is no such revision or kind, or nothing is decided about that kind.
    """
    from reconciler.cli.world import note_if_empty, open_revisions
    from reconciler.shell.git.revisions import resolve_revision

    revisions = open_revisions(directory, asked.output_root)
    head = resolve_revision(revisions.repository, asked.at)
    note_if_empty(directory, revisions.loader.load(head))
    return subject_at(revisions, head, asked.word, asked.namespace)


def subject_at(
    revisions: "GitRevisions",
    head: str,
    word: str,
    namespace: str,
    *,
    also: "Collection[tuple[str, str]]" = (),
) -> Subject:
    """Find the object that a person names at a commit; it may be gone by then.

    Args:
        revisions: Where it is looked for.
        head: Full hex id of the commit.
        word: What the person wrote.
        namespace: In which it is, if the word does not say.
        also: (group, kind) of what stands for itself though nothing is decided about it.

    Raises:
        UsageError: There is no such kind, or nothing is decided about that kind.
    """
    from reconciler.audit.named_object import decided_key, find_object
    from reconciler.audit.replay import Replay

    world = revisions.loader.load(head)
    named = find_object(world, word, namespace)
    return Subject(
        word=word,
        named=named,
        key=named if (named.group, named.kind) in also else decided_key(world, named),
        world=world,
        head=head,
        revisions=revisions,
        replay=Replay(revisions),
    )
