"""Anything that a word names: clusters, objects, policies and commits, as one list of results."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

from reconciler.core.dialects import CLUSTERS, PLACED, decision_on
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass
from reconciler.model.world import World
from reconciler.page.links import Anchor, Links
from reconciler.page.lists import called
from reconciler.page.timeline import FoundCommit

MOST = 40  # of each sort
SHORTEST_ID = 4  # digits of a commit's id


class FoundResult(NamedTuple):
    """One result: where it leads, more about it, and of a commit its full hex id."""

    anchor: Anchor
    says: str
    revision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGroup:
    """The results of one sort: its title, the first of them, how many there are besides."""

    title: str
    found: Sequence[FoundResult]
    rest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView:
    """The view; `looked` is how many commits were looked at."""

    words: str
    groups: Sequence[FoundGroup]
    looked: int

    @property
    def only(self) -> str:
        """Where the only result leads, `""` if there are others.

        Commits beside a cluster, an object or a policy do not count if it has just the name that is
        looked for: nearly everything is named by some commit.
        """
        things = [one for group in self.groups for one in group.found if not one.revision]
        every = [one for group in self.groups for one in group.found]
        if len(things) == 1 and self.words.strip().lower() in _names(things[0].anchor.text):
            return things[0].anchor.href
        return every[0].anchor.href if len(every) == 1 else ""


def search_view(
    world: World, words: str, commits: Sequence[FoundCommit], links: Links
) -> SearchView:
    """Return the view.

    Args:
        world: That is searched.
        words: What is looked for: each word must stand in a kind, a name, a namespace or a file, or
            in the subject, author or id of a commit, in upper or lower case.
        commits: Those that are looked at, the newest first.
        links: Where views lead.
    """
    asked = words.lower().split()
    groups: dict[str, list[tuple[ObjectKey, str]]] = {}
    for title, key, path in _matching(world, asked) if asked else ():
        groups.setdefault(title, []).append((key, path))
    groups_shown = [
        _group(title, groups[title], asked, links) for title in TITLES if title in groups
    ]
    lines = [one for one in commits if asked and _is_asked(one, asked)]
    if lines:
        groups_shown.append(
            FoundGroup(
                title="commits",
                found=[_commit(one, links) for one in lines[:MOST]],
                rest=max(0, len(lines) - MOST),
            )
        )
    return SearchView(words=words, groups=groups_shown, looked=len(commits))


def _names(text: str) -> tuple[str, str]:
    """Return what a result is called: with its kind, and without."""
    return text.lower(), text.lower().partition("/")[2] or text.lower()


CLUSTERS_TITLE, OBJECTS_TITLE, REST_TITLE = TITLES = (
    "clusters",
    "objects",
    "policies and the rest",
)


def _matching(world: World, asked: Sequence[str]) -> Iterator[tuple[str, ObjectKey, str]]:
    """Yield what is asked for: among what it is told, its key, its file.

    What is decided about an object that is found by itself is not found once more.
    """
    decided = set()
    for key, manifest in world.inputs.items():
        if _says(key, manifest.origin.path, asked):
            about = decision_on(key)
            is_decided = about is not None and about in world.outputs
            decided |= {about} if is_decided else set()
            title = OBJECTS_TITLE if is_decided else REST_TITLE
            yield CLUSTERS_TITLE if key[:2] in CLUSTERS else title, key, manifest.origin.path
    for key, manifest in world.outputs.items():
        is_alone = key[:2] in PLACED and key not in decided and key not in world.inputs
        if is_alone and _says(key, manifest.origin.path, asked):
            yield OBJECTS_TITLE, key, manifest.origin.path


def _says(key: ObjectKey, path: str, asked: Sequence[str]) -> bool:
    """Return whether each word stands in a kind, a name, a namespace or a file."""
    text = f"{key.kind}/{key.name} {key.namespace} {path}".lower()
    return all(word in text for word in asked)


def _group(
    title: str, found: Sequence[tuple[ObjectKey, str]], asked: Sequence[str], links: Links
) -> FoundGroup:
    """Return the results of one sort: exact names, those that begin so, the others."""

    def order(one: tuple[ObjectKey, str]) -> tuple[int, str, str]:
        name = one[0].name.lower()
        near = 0 if name in asked else 1 if any(map(name.startswith, asked)) else 2
        return near, name, one[0].namespace

    return FoundGroup(
        title=title,
        found=[_told(title, key, path, links) for key, path in nsmallest(MOST, found, key=order)],
        rest=max(0, len(found) - MOST),
    )


def _told(title: str, key: ObjectKey, path: str, links: Links) -> FoundResult:
    """Return where a result leads, and more about it."""
    if title == CLUSTERS_TITLE:
        return FoundResult(Anchor(key.name, links.cluster(key)), path)
    href = links.object(key) if title == OBJECTS_TITLE else links.manifest(key)
    says = f"in {key.namespace}, {path}" if key.namespace else path
    return FoundResult(Anchor(called(key), href), says)


def _is_asked(commit: FoundCommit, asked: Sequence[str]) -> bool:
    text = f"{commit.subject} {commit.author}".lower()
    return all(
        word in text or (len(word) >= SHORTEST_ID and commit.revision.startswith(word))
        for word in asked
    )


def _commit(commit: FoundCommit, links: Links) -> FoundResult:
    """Return one commit; a pass is shown on the timeline."""
    query: Mapping[str, str] = {"at": commit.revision} if commit.is_pass else {}
    href = links.view("timeline", **query) if commit.is_pass else ""
    author = commit.author.partition(" <")[0]
    says = f"{author}, {format_moment(commit.at)}"
    return FoundResult(Anchor(commit.subject, href), says, commit.revision)
