"""What is wrong now, as counts that lead to lists: in the head of every view, and first of all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reconciler.audit.fleet.trouble import Trouble
from reconciler.audit.fleet.usage import Usage
from reconciler.model.identity import ObjectKey
from reconciler.page.links import Anchor, Links
from reconciler.page.states import Tone

SHOWN = 4  # of each, beside the count


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCount:
    """One thing that is wrong: so many, what they are, where all are listed, the first of them."""

    count: int
    words: str
    tone: Tone
    anchor: Anchor
    first: Sequence[Anchor] = ()

    @property
    def rest(self) -> int:
        """How many are not among the first."""
        return max(0, self.count - len(self.first)) if self.first else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongView:
    """All that is wrong, the worst first; `late` says that a pass is overdue, `""` if none is."""

    counts: Sequence[WrongCount]
    late: str = ""


def wrong_view(
    trouble: Trouble, links: Links, called: "dict[ObjectKey, Anchor]", late: str = ""
) -> WrongView:
    """Return the view.

    Args:
        trouble: What is wrong.
        links: Where views lead.
        called: How people call the first objects of each list, and where they are told.
        late: Why a pass is overdue, `""` if none is.
    """
    return WrongView(counts=list(_counts(trouble, links, called)), late=late)


def objects_told(trouble: Trouble) -> Iterator[ObjectKey]:
    """Yield the objects that the view names."""
    yield from list(trouble.unplaced)[:SHOWN]
    yield from list(trouble.waiting)[:SHOWN]


def _counts(
    trouble: Trouble, links: Links, called: "dict[ObjectKey, Anchor]"
) -> Iterator[WrongCount]:
    """Yield what is wrong, the worst first."""
    clusters, objects = _Clusters(links), _Objects(links, called)
    yield from clusters.counted(trouble.not_ready, "not ready", "not-ready")
    yield from clusters.counted(trouble.silent, "without a report", "no-report")
    yield from clusters.counted(trouble.over, "over-committed", "over")
    yield from objects.counted(trouble.unplaced, "not placed", "unplaced", Tone.BAD)
    if trouble.faults:
        yield _faults(trouble, links)
    yield from objects.counted(trouble.waiting, "waiting", "waiting", Tone.WARN)
    if trouble.suspended:
        yield _suspended(trouble, links)


def _nouns(count: int, noun: str, what: str) -> str:
    """Return what so many are, as a sentence has it."""
    return f"{noun}{'' if count == 1 else 's'} {what}".rstrip()


class _Clusters(NamedTuple):
    """Counts clusters."""

    links: Links

    def counted(self, found: Sequence[Usage], what: str, state: str) -> Iterator[WrongCount]:
        """Yield how many there are, if there are any; `state` is what their list is filtered by."""
        if found:
            words = _nouns(len(found), "cluster", what)
            yield WrongCount(
                count=len(found),
                words=words,
                tone=Tone.BAD,
                anchor=Anchor(f"{len(found)} {words}", self.links.view("clusters", state=state)),
                first=[Anchor(one.key.name, self.links.cluster(one.key)) for one in found[:SHOWN]],
            )


class _Objects(NamedTuple):
    """Counts objects; `called` is how people call the first of each list."""

    links: Links
    called: "dict[ObjectKey, Anchor]"

    def counted(
        self, found: Iterable[ObjectKey], what: str, state: str, tone: Tone
    ) -> Iterator[WrongCount]:
        """Yield how many there are, if there are any; `state` is what their list is filtered by."""
        if keys := list(found):
            words = _nouns(len(keys), "object", what)
            yield WrongCount(
                count=len(keys),
                words=words,
                tone=tone,
                anchor=Anchor(f"{len(keys)} {words}", self.links.view("objects", state=state)),
                first=[self.called[key] for key in keys[:SHOWN] if key in self.called],
            )


def _faults(trouble: Trouble, links: Links) -> WrongCount:
    """Return how many files have faults, and which."""
    count, href = len(trouble.faults), links.view("faults")
    words = _nouns(count, "fault", "")
    paths = list(dict.fromkeys(one.path for one in trouble.faults))[:SHOWN]
    return WrongCount(
        count=count,
        words=words,
        tone=Tone.BAD,
        anchor=Anchor(f"{count} {words}", href),
        first=[Anchor(path, href) for path in paths],
    )


def _suspended(trouble: Trouble, links: Links) -> WrongCount:
    """Return how much people suspended."""
    count = len(trouble.suspended)
    whole = any(one.is_configuration for one in trouble.suspended)
    words = "everything suspended" if whole else "suspended"
    named = [] if whole else [one.key for one in trouble.suspended[:SHOWN]]
    return WrongCount(
        count=count,
        words=words,
        tone=Tone.HOLD,
        anchor=Anchor(words if whole else f"{count} {words}", links.part("faults", "suspended")),
        first=[Anchor(f"{key.kind.lower()}/{key.name}", links.manifest(key)) for key in named],
    )
