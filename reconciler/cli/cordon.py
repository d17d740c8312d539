"""The words of `cordon`, `uncordon` and `taint` as edits of clusters."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.audit.previews.edits import cluster_views, clusters_named, refuse_taintless
from reconciler.cli.edits import (
    Edit,
    EditOptions,
    ObjectEdit,
    RemovedObject,
    edit_objects,
    find_written,
    written_among,
)
from reconciler.cli.kinds import AskedKind, asked_kinds
from reconciler.cli.kinds import kinds_present as present_kinds
from reconciler.cli.scale import split_words
from reconciler.cli.selection import NamedOrChosen, all_objects, matching
from reconciler.core.dialects import CLUSTERS
from reconciler.core.inputs.world import faces_of
from reconciler.dialects.view import drained_by
from reconciler.errors import UsageError
from reconciler.manifests.edits.changes import (
    cordon_steps,
    parse_taint_changes,
    taint_steps,
    uncordon_steps,
)
from reconciler.manifests.edits.changes import is_taint_change as is_change
from reconciler.manifests.identity import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from reconciler.model.identity import ObjectKey
    from reconciler.model.kinds import Kind
    from reconciler.model.world import World


ANY = ("cluster", "clusters")
NODES = ("no", "node", "nodes")


def clusters_asked(
    words: Sequence[str], selector: str | None
) -> "Callable[[World], list[ObjectKey]]":
    """Return what finds the clusters that words name, or that a selector chooses among all.

    Raises:
        UsageError: There are neither, or both.
    """
    if not words and selector is None:
        raise UsageError("name clusters, or select them with -l")
    if words and selector is not None:
        raise UsageError("-l selects among all clusters; do not name clusters as well")
    chosen = _chosen((), selector) if selector is not None else None
    return lambda world: _clusters(world, words, chosen)


def cordon(
    directory: Path, /, *, words: Sequence[str], selector: str | None, to: EditOptions
) -> int:
    """Keep clusters from taking anything new."""
    asked, views = clusters_asked(words, selector), cluster_views()

    def wanted(world: "World") -> list[ObjectEdit]:
        return [
            ObjectEdit(
                key=key,
                steps=cordon_steps(
                    world.inputs[key].body, views[key.group, key.kind].clusters.cordon
                ),
                becomes="cordoned",
                is_already="is cordoned already",
            )
            for key in asked(world)
        ]

    return edit_objects(directory, to, wanted, lambda names: f"Cordon {names}")


def uncordon(
    directory: Path, /, *, words: Sequence[str], selector: str | None, to: EditOptions
) -> int:
    """Let clusters take something new again: what a cordon or a drain wrote goes."""
    asked, views = clusters_asked(words, selector), cluster_views()

    def wanted(world: "World") -> list[Edit]:
        edits: list[Edit] = []
        for key in asked(world):
            view = views[key.group, key.kind]
            taints = (view.clusters.cordon, view.clusters.draining.taint)
            edits.append(
                ObjectEdit(
                    key=key,
                    steps=uncordon_steps(world.inputs[key].body, taints),
                    becomes="uncordoned",
                    is_already="is not cordoned",
                )
            )
            drainings = (views[face[:2]].clusters.draining for face in faces_of(world, key))
            edits += (
                RemovedObject(key=one) for way in drainings for one in drained_by(world, key, way)
            )
        return edits

    return edit_objects(directory, to, wanted, lambda names: f"Uncordon {names}")


def taint(
    directory: Path,
    /,
    *,
    words: Sequence[str],
    selector: str | None,
    every: bool,
    overwrite: bool,
    to: EditOptions,
) -> int:
    """Set and take away taints of clusters."""
    objects, changed = split_words(words, is_change, "taint", "key=value:NoSchedule or key-")
    chosen = None
    if selector is not None or every:
        chosen = _chosen(objects, selector, every=every)
        chosen.check()
    changes, views = parse_taint_changes(changed), cluster_views()
    said = " ".join(changed)

    def wanted(world: "World") -> list[ObjectEdit]:
        return [
            ObjectEdit(
                key=key,
                steps=taint_steps(
                    world.inputs[key].body,
                    changes,
                    views[key.group, key.kind].clusters.taint_effects,
                    overwrite=overwrite,
                ),
                becomes=f"tainted {said}",
                is_already="is tainted so already",
            )
            for key in _clusters(world, all_objects(objects), chosen)
        ]

    return edit_objects(directory, to, wanted, lambda names: f"Taint {names} {said}")


def _chosen(words: Sequence[str], selector: str | None, *, every: bool = False) -> NamedOrChosen:
    return NamedOrChosen(
        words=tuple(words),
        namespace="",
        all_namespaces=True,
        selector=selector,
        every=every,
    )


def _clusters(
    world: "World", words: Sequence[str], chosen: NamedOrChosen | None
) -> "list[ObjectKey]":
    """Return the clusters that are chosen, or else those that words name, each once.

    Raises:
        UsageError: There is none of them, or an object is of another kind.
    """
    clusters = _named_clusters(world, words) if chosen is None else _chosen_clusters(world, chosen)
    refuse_taintless(clusters)
    return clusters


def _chosen_clusters(world: "World", chosen: NamedOrChosen) -> "list[ObjectKey]":
    """Return the clusters of a kind that are chosen; of all APIs for `cluster` or no word."""
    (word,) = chosen.words or (ANY[0],)
    if word.lower() in ANY:
        asked = tuple(AskedKind(word, kind) for kind in CLUSTERS)
    else:
        asked = asked_kinds(world.known, present_kinds(world), (word,))
        _check_kinds(one.kind for one in asked)
    return written_among(world, matching(world, asked, chosen), chosen)


def _check_kinds(kinds: "Iterable[Kind]") -> None:
    """Refuse what is no cluster.

    Raises:
        UsageError: One of the kinds is none.
    """
    for kind in kinds:
        if kind not in CLUSTERS:
            raise UsageError(f"a {kind[1]} has no taints; name a cluster instead")


def _named_clusters(world: "World", words: Sequence[str]) -> "list[ObjectKey]":
    """Return the clusters that words name, each once.

    A name alone means the clusters of that name in all APIs; `cluster/NAME` that of the kind
    Cluster, or where there is none, those of the other APIs.

    Raises:
        UsageError: There is no such cluster, or it is an object of another kind.
    """
    clusters: list[ObjectKey] = []
    for word in words:
        kind, _, name = word.rpartition("/")
        if kind.lower() in ("", *ANY):
            keys = clusters_named(world, name)
            exact = tuple(key for key in keys if kind and key.kind.lower() == ANY[0])
            clusters += exact or keys
            continue
        if kind.lower() in NODES:
            raise UsageError(f"nodes are the clusters' own; name a cluster, such as cluster/{name}")
        (key,) = find_written(world, [word], DEFAULT_NAMESPACE)
        _check_kinds([key[:2]])
        clusters.append(key)
    return list(dict.fromkeys(clusters))
