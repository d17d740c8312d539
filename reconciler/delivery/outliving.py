"""Files that stay once no decision wants them, since their objects are to outlive that.

A mark that keeps from pruning works only where it is on the live object before its file goes. As
long as somebody asks for it the mark stands in the file, so that a later removal takes the file
away and nothing else. Where asking and removal come in one merge, or where an API acts on it only
once the decision is gone, the file gets its mark then and stays until a report shows it on the
object, or a person lets it go.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from reconciler.delivery.carriage import TABLE, Effect, is_marked
from reconciler.delivery.owned_files import FileOwner, at_and_above, places, texts_of
from reconciler.delivery.reach import reach_of
from reconciler.delivery.record import Outliving, OutlivingFile
from reconciler.delivery.settings import Destination
from reconciler.dialects.object_boundary import Failed, FaultPlace, attempt
from reconciler.dialects.renderer import ClusterWork, Instruction, Reach, Renderer, Wraps
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlivingFiles:
    """The files that stay, and those that may go since a cluster reports the mark.

    Attributes:
        stay: They, by path.
        marked: Those of them that are written anew with the mark: path to text.
        released: Those that go.
    """

    stay: Mapping[str, OutlivingFile] = field(default_factory=dict)
    marked: Mapping[str, str] = field(default_factory=dict)
    released: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlivingQuestion:
    """What is asked where files of decisions are left over.

    Attributes:
        left: Files that no decision wants any more.
        changed: By API the decisions that are others than before.
        then: What renders them as they were, by API.
        now: What renders them as they are.
        earlier: What the record says of earlier passes.
        reports: What clusters report.
        destinations: Where is delivered to.
        wraps: How objects of one API carry what any decides.
    """

    left: frozenset[str]
    changed: Mapping[str, Collection[ObjectKey]]
    then: Mapping[str, Renderer]
    now: Mapping[str, Renderer]
    earlier: Outliving
    reports: Mapping[ObjectKey, Manifest]
    destinations: Collection[Destination]
    wraps: Wraps


def outliving_files(question: OutlivingQuestion) -> OutlivingFiles:
    """Return what stays of the files that are left over."""
    known = {one.path: one for one in question.earlier.files if one.path in question.left}
    released = {path for path, one in known.items() if _is_reported(one, question.reports)}
    stay = {path: one for path, one in known.items() if path not in released}
    marked: dict[str, str] = {}
    for name, key, reach, destinations in _asking(question):
        new = dict(_left(key, reach, destinations, question.left))
        new = {path: one for path, one in new.items() if path not in known}
        stay |= new
        if new:
            owner = FileOwner(name, key)
            marked |= _marked(owner, question.then[name], new, destinations, question.wraps)
    return OutlivingFiles(stay=stay, marked=marked, released=frozenset(released))


def _is_reported(file: OutlivingFile, reports: Mapping[ObjectKey, Manifest]) -> bool:
    found = reports.get(file.source)
    return found is not None and is_marked(found.body)


def _asking(
    question: OutlivingQuestion,
) -> Iterator[tuple[str, ObjectKey, Reach, tuple[Destination, ...]]]:
    """Yield the API of each decision whose files stay, it, what of it is where, and by what."""
    carried = TABLE[Instruction.PRESERVED]
    every = tuple(one for one in question.destinations if carried[one.transport].carried)
    late = TABLE[Instruction.ABANDON]
    some = tuple(
        one for one in question.destinations if late[one.transport].effect is Effect.OUTLIVES
    )
    for name, keys in sorted(question.changed.items()):
        then, now = question.then[name], question.now[name]
        for key in sorted(keys):
            asked = attempt(partial(then.unmarked, key), partial(_place, key))
            if not isinstance(asked, Failed) and asked:
                yield name, key, asked, every
            if key in question.earlier.owners and not reach_of(now, key):
                yield name, key, reach_of(then, key) or {}, some


def _left(
    key: ObjectKey, reach: Reach, destinations: Iterable[Destination], left: frozenset[str]
) -> Iterator[tuple[str, OutlivingFile]]:
    """Yield the files of a decision that are left over, by path."""
    where = {
        place: source._replace(reporter=cluster)
        for cluster, sources in reach.items()
        for source in sources
        for place in places(key, {cluster: (source,)}, [cluster], destinations)
    }
    for path in left if where else ():
        for place in at_and_above(path):
            if place in where:
                yield path, OutlivingFile(path, where[place])


def _marked(
    owner: FileOwner,
    then: Renderer,
    files: Mapping[str, OutlivingFile],
    destinations: Iterable[Destination],
    wraps: Wraps,
) -> dict[str, str]:
    """Return the files as they were with the mark; none that cannot be rendered any more."""
    rendered = attempt(partial(then.render, owner.key), partial(_place, owner.key))
    if rendered is None or isinstance(rendered, Failed):
        return {}
    asking = tuple(map(_preserved, rendered.works))
    try:
        texts = texts_of(owner, replace(rendered, works=asking), destinations, wraps)
    except UserError:
        return {}
    return {path: texts[path] for path in files if path in texts}


def _preserved(work: ClusterWork) -> ClusterWork:
    asked = dict.fromkeys(work.manifests, frozenset({Instruction.PRESERVED}))
    return replace(work, asked=asked)


def _place(key: ObjectKey) -> FaultPlace:
    return FaultPlace(key.name, str(key))
