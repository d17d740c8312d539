"""The files of one decision: what clusters get, put where each transport has it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reconciler.delivery.carriage import Carriage, carry, not_carried
from reconciler.delivery.definitions import CustomObjects, custom_objects
from reconciler.delivery.refusals import Renamed
from reconciler.delivery.settings import Destination
from reconciler.delivery.transports.profile import TRANSPORTS
from reconciler.dialects.renderer import Instruction, Reach, Rendered, Wraps
from reconciler.errors import UserError
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.filled import Known, encode_alike
from reconciler.model.body import Body
from reconciler.model.enumeration import enumerated
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Fault

NOT_RENDERED = "delivery-not-rendered"
LARGEST = 1_572_864
"""Bytes of an object, as JSON, that etcd takes by default.

Source: etcd server/embed/config.go `DefaultMaxRequestBytes`.
"""
NAMED = 3  # clusters that are named in a fault


class FileOwner(NamedTuple):
    """A decision, and the API that it is of."""

    dialect: str
    key: ObjectKey


@dataclass(frozen=True, slots=True)
class OwnedFiles:
    """The files of one decision.

    Attributes:
        blobs: Path to the git blob id of what should stand there.
        renamed: The files whose objects overrides gave another identity, with the path at which an
            object of that identity would stand by itself.
        kept: Files and folders in which what is there stays.
        leaving: Path to the blob id of what stands there where nothing stands yet.
        known: Files and folders in which only what is there is written anew.
        outliving: The transports whose files stay once the decision is gone.
        not_carried: What is asked of which objects and a transport does not carry.
        faults: Why clusters get nothing new.
        warnings: What a person should know.
        custom: What it brings beside what every cluster knows.
    """

    blobs: Mapping[str, str]
    renamed: Mapping[str, str]
    kept: frozenset[str]
    leaving: Mapping[str, str]
    known: frozenset[str]
    outliving: frozenset[str]
    not_carried: tuple["NotCarried", ...]
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]
    custom: CustomObjects


class NotCarried(NamedTuple):
    """What is asked of an object, and the transport that does not carry it."""

    instruction: Instruction
    transport: str
    source: ObjectKey


def carriages_of(
    rendered: Rendered, destinations: Iterable[Destination]
) -> dict[Destination, Carriage]:
    """Return what each transport delivers of a decision."""
    return {
        one: carry(rendered, one.transport, apart=TRANSPORTS[one.transport].kustomized)
        for one in destinations
    }


def texts_of(
    owner: FileOwner, rendered: Rendered, destinations: Iterable[Destination], wraps: Wraps
) -> dict[str, str]:
    """Return the files of a decision: path to text.

    Raises:
        UserError: One of them cannot be written, or no API server takes it.
    """
    known: Known = {}  # many clusters get what is alike
    return {
        path: _text(path, content, known)
        for destination, carriage in carriages_of(rendered, destinations).items()
        for path, content in TRANSPORTS[destination.transport].files(
            owner.key, carriage.rendered, destination, wraps
        )
    }


def leaving_texts(
    owner: FileOwner, rendered: Rendered, destinations: Iterable[Destination], wraps: Wraps
) -> dict[str, str]:
    """Return the files of what leaves clusters; none of them where one cannot be written."""
    leaving = Rendered(path=rendered.path, works=rendered.leaving)
    try:
        return texts_of(owner, leaving, destinations, wraps)
    except UserError:
        return {}


def owned_files(
    owner: FileOwner,
    rendered: Rendered,
    renamed: Renamed,
    texts: Mapping[str, str],
    leaving: Mapping[str, str],
    reach: Reach,
    destinations: Iterable[Destination],
    *,
    like: str,
) -> OwnedFiles:
    """Return what is remembered of a decision's files, their texts left out.

    Args:
        owner: The decision.
        rendered: What clusters get.
        renamed: What of it overrides gave another identity.
        texts: The files of it.
        leaving: Those of what leaves clusters.
        reach: What of it may be where.
        destinations: Where to.
        like: A git id, whose format blob ids have.
    """
    stays = rendered.kept.union(one.cluster for one in rendered.failed)
    carriages = carriages_of(rendered, destinations)
    held = ((one, carriage.stays) for one, carriage in carriages.items())
    known = ((one, carriage.known) for one, carriage in carriages.items())
    return OwnedFiles(
        blobs={path: blob_id(text.encode(), like=like) for path, text in texts.items()},
        renamed={
            path: place
            for path, place in _renamed(owner.key, renamed, destinations)
            if path in texts
        },
        kept=frozenset(places(owner.key, reach, stays, destinations)).union(
            *(places(owner.key, found, found, [one]) for one, found in held)
        ),
        known=frozenset[str]().union(
            *(places(owner.key, found, found, [one]) for one, found in known)
        ),
        outliving=frozenset(
            one.transport for one, carriage in carriages.items() if carriage.outlives
        ),
        not_carried=tuple(
            NotCarried(instruction, one.transport, source)
            for one, carriage in carriages.items()
            for instruction in not_carried(carriage, one.transport)
            for source in sorted(carriage.asked[instruction])
        ),
        leaving={path: blob_id(text.encode(), like=like) for path, text in leaving.items()},
        faults=tuple(_faults(owner, rendered)),
        warnings=rendered.warnings,
        custom=custom_objects(rendered),
    )


def places(
    owner: ObjectKey,
    reach: Reach,
    clusters: Iterable[ClusterName],
    destinations: Iterable[Destination],
) -> Iterator[str]:
    """Yield the files, or folders of files, that a decision may have for some clusters."""
    for destination in destinations:
        for cluster in clusters:
            sources = reach.get(cluster, ())
            yield from TRANSPORTS[destination.transport].places(
                owner, cluster, sources, destination
            )


def _renamed(
    owner: ObjectKey, renamed: Renamed, destinations: Iterable[Destination]
) -> Iterator[tuple[str, str]]:
    """Yield each file of a renamed object, and where one of its identity stands by itself."""
    for destination in destinations:
        transport = TRANSPORTS[destination.transport]
        for (cluster, source), key in renamed.items() if transport.kustomized else ():
            path, place = transport.places(owner, cluster, (source, key), destination)
            yield path, place


def is_in(path: str, found: frozenset[str]) -> bool:
    """Return whether a file is one of some files, or in one of some folders.

    >>> is_in("a/b/c.yaml", frozenset({"a/b"}))
    True
    """
    return any(one in found for one in at_and_above(path))


def at_and_above(path: str) -> Iterator[str]:
    """Yield a path, and the folders that it leads through, the nearest first.

    >>> list(at_and_above("a/b/c.yaml"))
    ['a/b/c.yaml', 'a/b', 'a']
    """
    while path:
        yield path
        path = path.rpartition("/")[0]


def _text(path: str, content: Body | Sequence[Body], known: Known) -> str:
    """Return what a file holds.

    Raises:
        UserError: It cannot be written, or no API server takes it.
    """
    if not isinstance(content, Mapping):
        return f"{json.dumps(content, indent=2, ensure_ascii=False)}\n"
    try:
        text = encode_alike(content, known)
    except ValueError as error:
        raise UserError(f"{path} cannot be written: {error}") from None
    if len(text) * 2 > LARGEST:  # quotes and braces do not double a document
        size = len(
            json.dumps(content, separators=(",", ":"), ensure_ascii=False, default=dict).encode()
        )
        if size > LARGEST:
            raise UserError(f"{path} has {size} bytes, more than the {LARGEST} that etcd takes")
    return text


def _faults(owner: FileOwner, rendered: Rendered) -> Iterator[Fault]:
    """Yield a fault for each reason, with the clusters that it concerns."""
    reasons: dict[str, list[str]] = {}
    for one in rendered.failed:
        reasons.setdefault(one.message, []).append(one.cluster)
    for reason, clusters in reasons.items():
        yield Fault(
            path=rendered.path,
            line=0,
            column=0,
            field="",
            rule=NOT_RENDERED,
            message=f"nothing new is delivered to {enumerated(clusters, NAMED)}: {reason}",
            expected="what is there stays until it can be rendered",
            subject=str(owner.key),
        )
