"""AddOnPlacementScores as any API may weigh clusters by them: one object per cluster and resource.

The kind is one of Open Cluster Management. What its placements read of it, and what policies of
Karmada and placements of KubeFleet read where the configuration says so, is read by the rules here.
A score that is missing, or has run out, counts as 0. What manifests ask for is held against the
scores that clusters have: whether any cluster has one, and what a hub makes of it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import repeat

from reconciler.dialects.inventory import Earlier
from reconciler.dialects.reads import Followed, Question
from reconciler.errors import UserError
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.moments import earliest, parse_instant, second_after
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import patched
from reconciler.model.settings import settings_in
from reconciler.model.text import shown
from reconciler.model.world import Manifest, World
from reconciler.schedule.columns import Numbers, column_of
from reconciler.schedule.framework import Mask, mask_of, mask_where

SCORES: Kind = ("cluster.open-cluster-management.io", "AddOnPlacementScore")


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """An AddOnPlacementScore: name to value, and until when it is valid, `None` for ever."""

    values: Mapping[str, int]
    valid_until: datetime | None = None


Reports = Mapping[tuple[str, str], ScoreReport]
"""(cluster, resource name) to the scores reported there."""


@dataclass(frozen=True, slots=True)
class ScoreName:
    """Which score is meant: the name of the objects, and that of the score in them."""

    resource: str
    score: str

    def __str__(self) -> str:
        return f"{self.resource}/{self.score}"


@dataclass(frozen=True, slots=True)
class Reported:
    """One score of every cluster, as the reports say it; 0 where it is not there."""

    values: Numbers
    missing: Mask
    expired: Mask

    def told(self, name: ScoreName, position: int) -> str:
        """Return what there is to say of one cluster's score."""
        if self.missing >> position & 1:
            return f"score {name} is not reported, counts as 0"
        if self.expired >> position & 1:
            return f"score {name} has run out, counts as 0"
        return f"score {name} is {self.values[position]}"


def decode_report(body: Body) -> ScoreReport:
    """Return the scores of an AddOnPlacementScore; of one name the last counts.

    Raises:
        UserError: A field has the wrong type, or its text cannot be read.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/api/cluster/v1alpha1
    `AddOnPlacementScoreStatus`.
    """
    status = fields.mapping(body, "status")
    until = fields.text(status, "validUntil")
    try:
        valid_until = parse_instant(until) if until else None
    except ValueError as error:
        raise UserError(str(error), field="validUntil") from error
    return ScoreReport(
        values={
            fields.text(item, "name"): fields.number(item, "value")
            for item in fields.bodies(status, "scores")
        },
        valid_until=valid_until,
    )


def reports_of(manifests: Iterable[Manifest]) -> dict[tuple[str, str], ScoreReport]:
    """Return the scores by cluster and name."""
    return {named(one.key): decode_report(one.body) for one in manifests}


def named(key: ObjectKey) -> tuple[str, str]:
    """Return the cluster and the name of a score."""
    return key.namespace, key.name


def scores_before(world: World) -> Earlier[Reports] | None:
    """Return the scores as they were at the last pass, `None` if none differs."""
    edited = world.earlier_of([SCORES])

    def draw() -> Reports:
        there = {one.key: one for one in world.of_kind(*SCORES) if one.key not in edited}
        there |= {key: one for key, one in edited.items() if one is not None}
        return reports_of(there[key] for key in sorted(there))

    return Earlier(tuple(edited), draw) if edited else None


def read_score(
    name: ScoreName, clusters: Sequence[ClusterName], reports: Reports, now: datetime
) -> Reported:
    """Return one score of each cluster; a report is valid up to its validUntil, inclusively.

    Source: ocm@00f84c3 pkg/placement/plugins/addon/addon.go `Score`.
    """
    found = [reports.get(key) for key in zip(clusters, repeat(name.resource))]
    values = [None if report is None else report.values.get(name.score) for report in found]
    limited = [
        (position, report.valid_until)
        for position, report in enumerate(found)
        if report is not None and report.valid_until is not None
    ]
    expired = [position for position, until in limited if now > until]
    for position in expired:
        values[position] = 0
    missing = mask_where([value is None for value in values])
    return Reported(column_of([value or 0 for value in values]), missing, mask_of(expired))


def expires_at(resources: Iterable[str], reports: Reports, now: datetime) -> datetime | None:
    """Return when the next of some resources' scores has run out, `None` if none does."""
    asked = frozenset(resources)
    if not asked:
        return None
    ends = (one.valid_until for (_, name), one in reports.items() if name in asked)
    return earliest(*(second_after(end) for end in ends if end is not None and end >= now))


def score_question(resource: str) -> Question:
    """Return the question of the scores of a resource on all clusters."""
    return "scores", resource


@dataclass(slots=True, eq=False)
class FollowedScores:
    """The scores of the world that was followed last; another mapping where one differs.

    What differs is told once to whoever asks, however many worlds were followed since.
    """

    reports: Reports = field(default_factory=dict)
    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed, repr=False)
    _untold: set[str] = field(default_factory=set)

    def follow(self, world: World) -> Reports:
        """Go on to a world, and return its scores."""
        keys = self._inputs.keys(world.inputs)
        moved = [key for key in keys if key[:2] == SCORES]
        if moved:
            came = reports_of(world.inputs[key] for key in moved if key in world.inputs)
            gone = [named(key) for key in moved if key not in world.inputs]
            self.reports = patched(self.reports, came, gone)
            self._untold |= {key.name for key in moved}
        return self.reports

    def changed(self) -> frozenset[Question]:
        """Return the questions to which there may be other answers since this was asked last."""
        untold, self._untold = self._untold, set()
        return frozenset(map(score_question, untold))


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
