"""Scores that manifests ask for: whether any cluster has them, and what a hub makes of it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from reconciler.dialects.scores.reports import SCORES, ScoreName
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.message_text import shown
from reconciler.model.settings import settings_in

MISSING, ON_A_HUB = "score-missing", "score-on-hub"
TO_HUBS = ("manifestworks", "works")
"""The transports that bring work to the agents of a hub, sorted."""


def reported_scores(known: Known) -> frozenset[str] | None:
    """Return the scores that any cluster has, as RESOURCE/SCORE; `None` if not all can be read."""
    if SCORES in known.unclear:
        return None
    return frozenset(
        f"{one.key.name}/{text(score, 'name')}"
        for one in known.of_kind(*SCORES)
        for score in bodies(mapping(one.body, "status"), "scores")
    )


def scores_of_none(known: Known, clusters: frozenset[str], kind: str) -> Iterator[Dangling]:
    """Yield the scores that stand in the namespace of no cluster, given the names of all."""
    for manifest in known.of_kind(*SCORES):
        namespace = manifest.key.namespace
        if namespace not in clusters:
            yield Dangling(
                manifest.key,
                "/metadata/namespace",
                "score-cluster-unknown",
                f"the namespace {shown(namespace)} is that of no {kind}, so none is scored",
                proposal(namespace, clusters, kind),
            )


def missing_score(
    key: ObjectKey, at: str, name: str, reported: Collection[str] | None
) -> Iterator[Dangling]:
    """Yield that no cluster has a score, given by RESOURCE/SCORE what any of them has."""
    if reported is not None and name not in reported:
        message = f"no {SCORES[1]} has the score {name}, it counts as 0"
        yield Dangling(key, at, MISSING, message, proposal(name, reported, "score"))


@dataclass(frozen=True, slots=True)
class ExtendedScores:
    """What there is to doubt where the configuration lets scores count in all APIs.

    Attributes:
        reported: The scores that any cluster has, `None` if not all can be read.
        transports: Those by which work is brought to a hub, as the configuration has them.
    """

    reported: frozenset[str] | None
    transports: tuple[str, ...]

    def doubts(
        self, key: ObjectKey, at: str, name: ScoreName, hub: str, written: str
    ) -> Iterator[Dangling]:
        """Yield what is to be said of an object that weighs clusters by a score.

        Args:
            key: Of the object.
            at: JSON pointer to where it says so.
            name: The score.
            hub: What a hub does with that, such as `refuses`.
            written: How it is written.
        """
        yield from missing_score(key, at, str(name), self.reported)
        if self.transports:
            message = (
                f"delivery goes to a hub (`delivery.{self.transports[0]}`), and a hub {hub} "
                f"{shown(written)}: it counts here only"
            )
            yield Dangling(key, at, ON_A_HUB, message, "the object in Git only, not on the hub")


def extended_scores(known: Known) -> ExtendedScores | None:
    """Return what there is to doubt, `None` where scores count in their own API only."""
    settings = settings_in(known.world)
    if not settings.extends_scores:
        return None
    delivery = settings.options.get("delivery", {})
    return ExtendedScores(reported_scores(known), tuple(one for one in TO_HUBS if one in delivery))
