"""What the repository configures: the part of `reconciler.yaml` that every layer may ask."""

from collections.abc import Mapping

from reconciler.model.body import Body
from reconciler.model.fields import mapping, number_or_none, strings, text
from reconciler.model.records import dataclass, field
from reconciler.model.world import World

CONFIGURATION = ("reconciler.dev", "ReconcilerConfiguration")
CONFIGURATION_PATH = "reconciler.yaml"
DEFAULT_ASSUME_AFTER_SECONDS = 60
DEFAULT_MAX_REMOVED_PERCENT = 50
DEFAULT_MAX_LOST_PERCENT = 50
DEFAULT_MAX_UNREACHABLE_PERCENT = 50
SCORES_EXTEND = "scores.extend"
"""Where the configuration lets scores count in all APIs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """How much a pass may take away at once.

    Attributes:
        max_removed_percent: Share of all placements, from 0 to 100.
        max_lost_percent: Share of all replicas that edits may take without placing as many
            elsewhere, from 0 to 100.
        max_unreachable_percent: Share of all clusters that may be reported unreachable, from 0 to
            100, before those that were not yet count as they did.
        allow: Digests of what is let through whatever its share.
        max_rebalanced_replicas_per_hour: How many replicas rebalances may move, `None` for any.
    """

    max_removed_percent: int = DEFAULT_MAX_REMOVED_PERCENT
    max_lost_percent: int = DEFAULT_MAX_LOST_PERCENT
    max_unreachable_percent: int = DEFAULT_MAX_UNREACHABLE_PERCENT
    allow: frozenset[str] = frozenset()
    max_rebalanced_replicas_per_hour: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings that decisions depend on; everything has a default.

    Attributes:
        include: Globs of the files that are read; empty means every YAML and JSON file.
        exclude: Globs of files that are not read, on top of the built-in ones.
        suspend: Whether passes leave everything as it is.
        declared_clusters: Whether a cluster without a status counts as ready and unlimited.
        heartbeats: Whether a cluster whose agent is silent counts as not ready.
        projects: Whether an API without clusters of its own sees those of the others.
        assume_after_seconds: How long after it was chosen a silent cluster counts as applied,
            healthy and available; `None` means never.
        feedback_branch: Another branch that clusters report on, `""` for the one that is served.
        keeps_used: Whether the reports that decisions read are kept on a branch beside that one.
        extends_scores: Whether AddOnPlacementScores count in all APIs, not in their own only.
        safety: How much may be removed at once.
        options: Sections as written, by name; that of a dialect has its name.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    suspend: bool = False
    declared_clusters: bool = True
    heartbeats: bool = False
    projects: bool = False
    assume_after_seconds: int | None = DEFAULT_ASSUME_AFTER_SECONDS
    feedback_branch: str = ""
    keeps_used: bool = False
    extends_scores: bool = False
    safety: Safety = Safety()  # frozen
    options: Mapping[str, Body] = field(default_factory=dict)

    @property
    def used_branch(self) -> str:
        """The branch that keeps what decisions read of reports, `""` for none."""
        return f"{self.feedback_branch}-used" if self.feedback_branch and self.keeps_used else ""

    @property
    def allowed(self) -> frozenset[str]:
        """The settings with which manifests may say what upstream would refuse."""
        return frozenset({SCORES_EXTEND} if self.extends_scores else ())


def settings_in(world: World) -> Settings:
    """Return the settings of a repository."""
    configurations = world.of_kind(*CONFIGURATION)
    return decode_settings(configurations[0].body if configurations else None)


def decode_settings(body: Body | None) -> Settings:
    """Return the settings of a validated ReconcilerConfiguration, or the defaults for `None`."""
    spec = mapping(body or {}, "spec")
    feedback = mapping(spec, "feedback")
    assume = feedback.get("assumeAfterSeconds", DEFAULT_ASSUME_AFTER_SECONDS)
    safety = mapping(spec, "safety")
    removed = number_or_none(safety, "maxRemovedPercent")
    lost = number_or_none(safety, "maxLostPercent")
    unreachable = number_or_none(safety, "maxUnreachablePercent")
    allow = safety.get("allow")
    return Settings(
        include=strings(spec, "include"),
        exclude=strings(spec, "exclude"),
        suspend=spec.get("suspend") is True,
        declared_clusters=mapping(spec, "inventory").get("declared") is not False,
        heartbeats=mapping(spec, "inventory").get("heartbeats") == "enforce",
        projects=mapping(spec, "inventory").get("project") is True,
        assume_after_seconds=assume if isinstance(assume, int) else None,
        feedback_branch=text(feedback, "branch"),
        keeps_used=feedback.get("keepUsed") is True,
        extends_scores=mapping(spec, "scores").get("extend") is True,
        safety=Safety(
            max_removed_percent=DEFAULT_MAX_REMOVED_PERCENT if removed is None else removed,
            max_lost_percent=DEFAULT_MAX_LOST_PERCENT if lost is None else lost,
            max_unreachable_percent=(
                DEFAULT_MAX_UNREACHABLE_PERCENT if unreachable is None else unreachable
            ),
            allow=frozenset([allow] if isinstance(allow, str) else strings(safety, "allow")),
            max_rebalanced_replicas_per_hour=number_or_none(safety, "maxRebalancedReplicasPerHour"),
        ),
        options={name: part for name, part in spec.items() if isinstance(part, Mapping)},
    )
