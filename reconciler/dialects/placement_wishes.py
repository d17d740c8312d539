"""How an object wants to be spread over regions, zones and other domains of clusters."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadWish:
    """How clusters are to lie over domains, the values of a field or label.

    Attributes:
        name: What the domains are values of, such as `region`.
        domain_of: Cluster to its domain; one that is missing is in none.
        least: How many domains there have to be at least, 0 for any number.
        most: How many at most, `None` for any number.
        skew: How many clusters a domain may have more than another one, `None` for any number.
    """

    name: str
    domain_of: Mapping[str, str]
    least: int = 0
    most: int | None = None
    skew: int | None = None

    def domains(self, clusters: Collection[str]) -> int:
        """Return how many domains some clusters lie in."""
        return len(self._counts(clusters))

    def skew_of(self, clusters: Collection[str]) -> int:
        """Return how many clusters the fullest domain has more than the emptiest."""
        counts = self._counts(clusters)
        every = [counts[domain] for domain in {*self.domain_of.values()}]
        return max(every, default=0) - min(every, default=0)

    def gap(self, clusters: Collection[str]) -> int:
        """Return how far clusters are from what is wished: domains, or clusters of skew.

        >>> zones = {"a": "x", "b": "x", "c": "y"}
        >>> wish = SpreadWish(name="zone", domain_of=zones, least=2, skew=1)
        >>> wish.gap(["a", "b"]), wish.gap(["a", "c"])
        (2, 0)
        """
        domains = self.domains(clusters)
        lacking = max(0, self.least - domains)
        beyond = 0 if self.most is None else max(0, domains - self.most)
        uneven = 0 if self.skew is None else max(0, self.skew_of(clusters) - self.skew)
        return lacking + beyond + uneven

    def _counts(self, clusters: Collection[str]) -> Counter[str]:
        return Counter(self.domain_of[name] for name in clusters if name in self.domain_of)


SpreadWishes = Callable[[ObjectKey], tuple[SpreadWish, ...]]
"""Returns the wishes of an object by what decisions about it bear."""


def no_spread(_: World) -> SpreadWishes:
    """Return that no object wishes anything."""
    return lambda _: ()
