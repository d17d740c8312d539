"""Anything that a word names: clusters, objects, policies and commits, as one list of results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.fleet.placed import decision_on
from reconciler.audit.short_id import short_id
from reconciler.core.dialects import CLUSTERS, PLACED
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.world import World
from reconciler.page.chosen_objects import called, named
from reconciler.page.links import Anchor, Links
from reconciler.page.timeline import FoundCommit

MOST = 40  # of each sort
SHORTEST_ID = 4  # digits of a commit's id


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGroup:
    """The results of one sort: its title, the first of them with more about each, the rest."""

    title: str
    found: Sequence[tuple[Anchor, str]]
    rest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView:
    """The view; `looked` is how many commits were looked at."""

    words: str
    groups: Sequence[FoundGroup]
    looked: int


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
    groups: dict[str, list[tuple[tuple[int, str], Anchor, str]]] = {}
    for key, path in _objects(world) if asked else ():
        told = f"{key.kind.lower()}/{key.name} {key.namespace} {path.lower()}"
        if all(word in told.lower() for word in asked) and not _is_twin(world, key):
            title, anchor, says = _told(world, key, path, links)
            groups.setdefault(title, []).append((_order(key, asked), anchor, says))
    found = [_group(title, groups[title]) for title in TITLES if title in groups]
    lines = [one for one in commits if asked and _is_asked(one, asked)]
    if lines:
        found.append(
            FoundGroup(
                title="commits",
                found=[_commit(one, links) for one in lines[:MOST]],
                rest=max(0, len(lines) - MOST),
            )
        )
    return SearchView(words=words, groups=found, looked=len(commits))


TITLES = ("clusters", "objects", "policies and the rest")


def _objects(world: World) -> Iterator[tuple[ObjectKey, str]]:
    """Yield all that people wrote, and what is decided about what no file of theirs is."""
    for key, manifest in world.inputs.items():
        yield key, manifest.origin.path
    for key, manifest in world.outputs.items():
        if key[:2] in PLACED and key not in world.inputs:
            yield key, manifest.origin.path


def _is_twin(world: World, key: ObjectKey) -> bool:
    """Return whether an output is about a workload that is found by itself."""
    return key not in world.inputs and named(world, key) in world.inputs


def _told(world: World, key: ObjectKey, path: str, links: Links) -> tuple[str, Anchor, str]:
    """Return among what an object is told, where it leads, and more about it."""
    where = f"in {key.namespace}, {path}" if key.namespace else path
    if key[:2] in CLUSTERS:
        return TITLES[0], Anchor(key.name, links.cluster(key)), path
    decided = key if key[:2] in PLACED else decision_on(key)
    if decided is not None and decided in world.outputs:
        return TITLES[1], Anchor(called(key), links.object(key)), where
    return TITLES[2], Anchor(called(key), links.manifest(key)), where


def _order(key: ObjectKey, asked: Sequence[str]) -> tuple[int, str]:
    """Return the order of results: exact names, then those that begin so, then the others."""
    name = key.name.lower()
    if name in asked:
        return 0, name
    return (1 if any(name.startswith(word) for word in asked) else 2), name


def _group(title: str, found: Iterable[tuple[tuple[int, str], Anchor, str]]) -> FoundGroup:
    """Return the results of one sort, in order."""
    ordered = sorted(found, key=lambda one: (one[0], one[2]))
    return FoundGroup(
        title=title,
        found=[(anchor, says) for _, anchor, says in ordered[:MOST]],
        rest=max(0, len(ordered) - MOST),
    )


def _is_asked(commit: FoundCommit, asked: Sequence[str]) -> bool:
    """Return whether a commit is asked for."""
    told = f"{commit.subject} {commit.author}".lower()
    return all(
        word in told or (len(word) >= SHORTEST_ID and commit.revision.startswith(word))
        for word in asked
    )


def _commit(commit: FoundCommit, links: Links) -> tuple[Anchor, str]:
    """Return one commit; a pass is shown on the timeline."""
    query: Mapping[str, str] = {"at": commit.revision} if commit.is_pass else {}
    href = links.view("timeline", **query) if commit.is_pass else ""
    author = commit.author.partition(" <")[0]
    return (
        Anchor(commit.subject, href),
        f"{short_id(commit.revision)}, {author}, {format_moment(commit.at)}",
    )
