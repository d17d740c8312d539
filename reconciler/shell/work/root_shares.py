"""Which worker has which root: it stays where its memory is, unless that worker has too many."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence


class RootShares:
    """The workers of the roots of one daemon.

    Args:
        roots: Names of the roots.
        present: Who has which already.
    """

    def __init__(self, roots: Collection[str], present: Mapping[str, str]) -> None:
        self._count = len(roots)
        self._workers = {root: present[root] for root in roots if root in present}

    def worker_of(self, root: str) -> str:
        """Return who has a root, `""` if nobody has."""
        return self._workers.get(root, "")

    def roots_of(self, worker: str) -> frozenset[str]:
        """Return the roots that a worker has."""
        return frozenset(root for root, one in self._workers.items() if one == worker)

    def take(self, root: str, workers: Sequence[str]) -> str:
        """Return who computes for a root now, and has it from now on.

        A root stays with its worker while that one is there and has no more than its share, which
        is the number of roots by that of workers, rounded up. Else it goes to the one with the
        fewest, the lesser address first. So a worker that comes back gets some of them, each once.

        Args:
            root: The root.
            workers: Who is there, at least one.

        >>> shares = RootShares(("x", "y", "z"), {"x": "a", "y": "a", "z": "a"})
        >>> shares.take("x", ["a", "b"]), shares.take("y", ["a", "b"]), shares.take("z", ["a", "b"])
        ('b', 'a', 'a')
        """
        counts = Counter(dict.fromkeys(workers, 0))
        counts.update(one for one in self._workers.values() if one in counts)
        present, share = self._workers.get(root, ""), -(-self._count // len(workers))
        if present not in counts or counts[present] > share:
            present = min(workers, key=lambda worker: (counts[worker], worker))
        self._workers[root] = present
        return present
