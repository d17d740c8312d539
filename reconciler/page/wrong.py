"""What is wrong now, as counts that lead to lists: in the head of every view, and first of all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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
    def clusters(
        found: Sequence[Usage], one: str, many: str, state: str, tone: Tone
    ) -> Iterator[WrongCount]:
        if found:
            words = one if len(found) == 1 else many
            yield WrongCount(
                count=len(found),
                words=words,
                tone=tone,
                anchor=Anchor(f"{len(found)} {words}", links.view("clusters", state=state)),
                first=[Anchor(u.key.name, links.cluster(u.key)) for u in found[:SHOWN]],
            )

    def objects(
        found: Iterable[ObjectKey], one: str, many: str, state: str, tone: Tone
    ) -> Iterator[WrongCount]:
        if keys := list(found):
            words = one if len(keys) == 1 else many
            yield WrongCount(
                count=len(keys),
                words=words,
                tone=tone,
                anchor=Anchor(f"{len(keys)} {words}", links.view("objects", state=state)),
                first=[called[key] for key in keys[:SHOWN] if key in called],
            )

    bad, warn = Tone.BAD, Tone.WARN
    yield from clusters(
        trouble.not_ready, "cluster not ready", "clusters not ready", "not-ready", bad
    )
    yield from clusters(
        trouble.silent, "cluster without a report", "clusters without a report", "no-report", bad
    )
    yield from clusters(
        trouble.over, "cluster over-committed", "clusters over-committed", "over", bad
    )
    yield from objects(trouble.unplaced, "object not placed", "objects not placed", "unplaced", bad)
    if trouble.faults:
        count = len(trouble.faults)
        words = "fault" if count == 1 else "faults"
        paths = list(dict.fromkeys(one.path for one in trouble.faults))[:SHOWN]
        anchor = Anchor(f"{count} {words}", links.view("faults"))
        first = [Anchor(path, links.view("faults")) for path in paths]
        yield WrongCount(count=count, words=words, tone=bad, anchor=anchor, first=first)
    yield from objects(trouble.waiting, "object waiting", "objects waiting", "waiting", warn)
    if trouble.suspended:
        count = len(trouble.suspended)
        whole = any(one.is_configuration for one in trouble.suspended)
        words = "suspended"
        text = "everything suspended" if whole else f"{count} suspended"
        named = [] if whole else [one.key for one in trouble.suspended[:SHOWN]]
        yield WrongCount(
            count=count,
            words="everything suspended" if whole else words,
            tone=Tone.HOLD,
            anchor=Anchor(text, links.part("faults", "suspended")),
            first=[Anchor(f"{key.kind.lower()}/{key.name}", links.manifest(key)) for key in named],
        )
