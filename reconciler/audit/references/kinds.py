"""Kinds of the groups that are read here, spelled as none of them is."""

from collections import defaultdict
from collections.abc import Iterator

from reconciler.manifests.references import Dangling, Known

ALIKE = 0.85  # ours: a letter or two in a kind of ten


def misspelled_kinds(known: Known) -> Iterator[Dangling]:
    """Yield the objects whose kind is not read, and which is all but one that is read.

    A longer kind that begins with one of ours is a kind of its own, such as upstream's
    ClusterResourcePlacementEviction.
    """
    from difflib import get_close_matches  # noqa: PLC0415  # only for what is wrong

    kinds: dict[str, list[str]] = defaultdict(list)
    for group, kind in sorted(known.world.known.scopes):
        kinds[group].append(kind)
    for (group, kind), keys in sorted(known.by_kind.items()):
        if group not in known.world.known.groups or kind in kinds[group]:
            continue
        close = get_close_matches(kind, kinds[group], n=1, cutoff=ALIKE)
        if not close or kind.startswith(close[0]):
            continue
        message = f'"{kind}" is not a kind of {group} that is read, so it has no effect'
        expected = f'did you mean "{close[0]}"?'
        for key in keys:
            yield Dangling(key, "/kind", "identity-kind-unknown", message, expected)
