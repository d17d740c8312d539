"""The metrics of the daemon, in a registry of their own; what they mean is in docs/operations.md.

No label has values that a repository chooses: their number is bounded, and no name leaks.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import prometheus_client as prometheus

from reconciler.audit.fleet.problems import ProblemKind
from reconciler.audit.previews.placement_moves import parts_between
from reconciler.core.message import is_told
from reconciler.imports.observed import Probe
from reconciler.shell.daemon.events import DaemonEvent, PassFailed, PassFinished
from reconciler.shell.passes.pass_report import REBALANCER_STATES, STEPS, PassSummary
from reconciler.staging.staged_delivery import RunState
from reconciler.version import __version__

PREFIX = "reconciler"
PASS_BUCKETS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)  # warm passes, and cold starts
LAG_BUCKETS = (1, 2, 5, 10, 30, 60, 120, 300, 900, 3600)  # a poll of a remote is one minute
OF_THE_PROCESS = frozenset(
    f"{PREFIX}_{name}" for name in ("build_info", "settings_refused", "unfit_workers")
)
prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]  # or each counter has a second series, which says nothing


class MetricsOfRoots:
    """The metrics of several roots as one page: each series has a label `root` in addition.

    Args:
        by_root: Metrics by the name of the root; what the process says of itself stands there once.
    """

    def __init__(self, by_root: Mapping[str, "Metrics"]) -> None:
        self._by_root = by_root

    def collect(self) -> Iterable[prometheus.Metric]:
        """Return each family once."""
        families: dict[str, prometheus.Metric] = {}
        for root, metrics in self._by_root.items():
            for family in metrics.registry.collect():
                if family.name in OF_THE_PROCESS or not family.name.startswith(PREFIX):
                    families.setdefault(family.name, family)
                    continue
                joint = prometheus.Metric(family.name, family.documentation, family.type)
                joint = families.setdefault(family.name, joint)
                for sample in family.samples:
                    joint.samples.append(sample._replace(labels={**sample.labels, "root": root}))
        return families.values()

    def text(self) -> bytes:
        """Return all series in Prometheus's text format."""
        return prometheus.generate_latest(self)


OBSERVED = (*(probe.name.lower() for probe in Probe), "silent")
"""What is counted of clusters: to what the last probe came, or that their observers are silent."""


class ObservationMetrics:
    """Counts what an observer sees. Series are read by other threads at any time."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)
        self._clusters = _gauge(
            self.registry, "observed_clusters", "Clusters, by what the last look came to.", "state"
        )
        self._silent = _gauge(
            self.registry, "silent_observers", "Observers of others that send no heartbeats."
        )
        self._stands_in = _gauge(
            self.registry, "stands_in", "1 while it observes in place of a silent observer."
        )
        self._unsent = _gauge(
            self.registry, "heartbeats_unsent", "1 while our own heartbeats do not arrive."
        )
        self._looked_at = _gauge(
            self.registry, "last_observation_timestamp_seconds", "When a look last ended well."
        )
        self.looked({}, silent=0, stands_in=False, unsent=False)

    def looked(
        self, clusters: Mapping[str, int], *, silent: int, stands_in: bool, unsent: bool
    ) -> None:
        """Count a look at clusters.

        Args:
            clusters: How many there are in each state of `OBSERVED`; the others have none.
            silent: How many observers of others are silent.
            stands_in: Whether we observe in place of one that is silent.
            unsent: Whether our own heartbeats do not arrive.
        """
        for state in OBSERVED:
            self._clusters.labels(state).set(clusters.get(state, 0))
        self._silent.set(silent)
        self._stands_in.set(stands_in)
        self._unsent.set(unsent)

    def ended(self, now: datetime) -> None:
        """Note that a look has ended well, with its reports."""
        self._looked_at.set(now.timestamp())

    def text(self) -> bytes:
        """Return all series in Prometheus's text format."""
        return prometheus.generate_latest(self.registry)


class Metrics:
    """Counts what the daemon does. Series are read by other threads at any time.

    Args:
        committed_at: Moment of a commit, by its full hex id.
    """

    def __init__(self, committed_at: Callable[[str], datetime]) -> None:
        self.registry = prometheus.CollectorRegistry()
        self._committed_at = committed_at
        self._left = ""
        prometheus.ProcessCollector(registry=self.registry)
        build = self._gauge("build_info", "The version that runs; always 1.", "version")
        build.labels(__version__).set(1)
        self._passes = self._counter("reconcile", "Passes by result.", "result")
        for result in ("committed", "unchanged", "failed"):
            self._passes.labels(result)
        self._seconds = self._histogram(
            "reconcile_duration_seconds", "How long passes took.", PASS_BUCKETS
        )
        self._steps = self._counter(
            "reconcile_step_seconds", "How long the steps of passes took in all.", "step"
        )
        for step in STEPS:
            self._steps.labels(step)
        self._lag = self._histogram(
            "decision_lag_seconds", "From a commit to the decision about it.", LAG_BUCKETS
        )
        self._last_success = self._gauge(
            "last_success_timestamp_seconds", "When a pass last ended well."
        )
        self._ready = self._gauge("ready", "1 while /readyz is green.")
        self._failures = self._gauge("consecutive_failures", "Passes that failed in a row.")
        self._commits = self._counter("commits", "Decision commits.")
        self._races = self._counter("push_conflicts", "Races lost to other writers, and retried.")
        self._moves = self._counter(
            "replica_moves",
            "Replicas that left one cluster for another; of an object without any, 1.",
        )
        self._decisions = self._counter(
            "decisions", "Decisions committed, by their cause.", "cause"
        )
        self._faults = self._gauge("faults", "What a person must edit, as of the last pass.")
        self._unschedulable = self._gauge(
            "unschedulable_bindings", "Objects on fewer clusters than they ask for."
        )
        self._problems = self._gauge(
            "problems", "What is wrong, by kind, as `status` says it.", "kind"
        )
        self._describe_problems({kind: 0 for kind in ProblemKind if kind is not ProblemKind.LATE})
        self._contested = self._gauge(
            "contested_files",
            "Files that wait, since others undo them again and again.",
        )
        self._unaccepted = self._gauge(
            "unaccepted_commits", "Commits that wait, since the first of them is not accepted."
        )
        self._unaccepted_since = self._gauge(
            "unaccepted_since_timestamp_seconds", "Since when they wait; 0 while none does."
        )
        self._refused_at: dict[str, float] = {}
        self._settings_refused = self._gauge(
            "settings_refused", "1 while the settings file is broken and the last good ones count."
        )
        self._unfit_workers = self._gauge(
            "unfit_workers", "Workers that are there and compute nothing, since they do not fit."
        )
        self._rebalancers = self._gauge(
            "rebalancers", "Rebalancers and triggers by state.", "state"
        )
        for state in REBALANCER_STATES:
            self._rebalancers.labels(state)
        self._staged_runs = self._gauge(
            "staged_runs", "Staged deliveries by the state of their run.", "state"
        )
        for run_state in RunState:
            self._staged_runs.labels(str(run_state))
        self._moving = self._gauge(
            "moves_waiting", "Objects of which something is to be ready before something else goes."
        )
        self._given_back = self._counter(
            "given_back", "Replicas started first and given back; of an object without any, 1."
        )
        self._suspended = self._gauge("suspended", "1 while reconciler.yaml suspends everything.")
        self._hooks = self._counter(
            "webhook_requests", "Requests to the webhook, by forge and answer.", "provider", "code"
        )
        self._reports = self._counter(
            "reports", "Reports by where and what became.", "to", "result"
        )

    def __call__(self, event: DaemonEvent) -> None:
        """Count what the daemon says."""
        match event:
            case PassFinished():
                self._finished(event)
            case PassFailed():
                self._passes.labels("failed").inc()
                self._failures.set(event.failures)

    def hook_answered(self, provider: str, code: int) -> None:
        """Count a request to the webhook; `provider` is one of a few words of ours."""
        self._hooks.labels(provider, str(code)).inc()

    def reported(self, to: str, result: str) -> None:
        """Count a report: to which kind of receiver, and what became of it."""
        self._reports.labels(to, result).inc()

    def count_decision(self, cause: str) -> None:
        """Count a decision that was committed, by one of the kinds of causes."""
        self._decisions.labels(cause).inc()

    def ready_if(self, ready: Callable[[], bool]) -> None:
        """Ask for readiness whenever the metrics are read: it is lost by time alone."""
        self._ready.set_function(lambda: float(ready()))

    def settings_refused_if(self, refused: Callable[[], bool]) -> None:
        """Ask whether the settings file is broken whenever the metrics are read."""
        self._settings_refused.set_function(lambda: float(refused()))

    def unfit_workers_by(self, count: Callable[[], int]) -> None:
        """Count the workers that do not fit whenever the metrics are read."""
        self._unfit_workers.set_function(lambda: float(count()))

    def text(self) -> bytes:
        """Return all series in Prometheus's text format."""
        return prometheus.generate_latest(self.registry)

    def _finished(self, event: PassFinished) -> None:
        report = event.report
        self._passes.labels("unchanged" if report.commit is None else "committed").inc()
        self._seconds.observe(event.seconds)
        for step, seconds in report.steps.items():
            self._steps.labels(step).inc(seconds)
        self._failures.set(0)
        self._last_success.set(report.now.timestamp())
        self._races.inc(report.races)
        self._describe(report)
        if report.commit is not None:
            self._committed(event)
        self._left = report.left.inputs

    def _committed(self, event: PassFinished) -> None:
        """Count what moved; the lag only of commits that came while the daemon ran."""
        report = event.report
        self._commits.inc()
        for decision in filter(is_told, report.decisions):
            self.count_decision(decision.cause.kind.value)
            self._moves.inc(min(parts_between(decision.before, decision.after)))
            self._given_back.inc(decision.given_back)
        if not event.first and report.heads.inputs != self._left:
            since = report.now - self._committed_at(report.heads.inputs)
            self._lag.observe(max(0.0, since.total_seconds() + event.seconds))

    def _describe(self, report: PassSummary) -> None:
        """Set how things stand after a pass."""
        self._faults.set(len(report.faults))
        self._unschedulable.set(report.problems[ProblemKind.NOT_PLACED])
        waiting = sum(commit.waiting for commit in report.refused)
        self._describe_problems({**report.problems, ProblemKind.UNACCEPTED: waiting})
        self._contested.set(len(report.contested.paths) if report.contested else 0)
        self._describe_refused(report)
        self._suspended.set(report.suspended)
        self._moving.set(report.moving)
        for state in REBALANCER_STATES:
            self._rebalancers.labels(state).set(report.rebalancers.get(state, 0))
        for run_state in map(str, RunState):
            self._staged_runs.labels(run_state).set(report.staged_runs.get(run_state, 0))

    def _describe_problems(self, counts: Mapping[ProblemKind, int]) -> None:
        """Set how much is wrong of each kind; what was not counted has no series."""
        self._problems.clear()
        for kind, count in counts.items():
            self._problems.labels(kind.value).set(count)

    def _describe_refused(self, report: PassSummary) -> None:
        """Set how many commits wait, and since when this process has known of the first."""
        now = report.now.timestamp()
        self._refused_at = {
            commit.revision: self._refused_at.get(commit.revision, now) for commit in report.refused
        }
        self._unaccepted.set(sum(commit.waiting for commit in report.refused))
        self._unaccepted_since.set(min(self._refused_at.values(), default=0))

    def _counter(self, name: str, says: str, *labels: str) -> prometheus.Counter:
        return prometheus.Counter(f"{PREFIX}_{name}", says, labels, registry=self.registry)

    def _gauge(self, name: str, says: str, *labels: str) -> prometheus.Gauge:
        return _gauge(self.registry, name, says, *labels)

    def _histogram(self, name: str, says: str, buckets: tuple[float, ...]) -> prometheus.Histogram:
        return prometheus.Histogram(
            f"{PREFIX}_{name}", says, buckets=buckets, registry=self.registry
        )


def _gauge(
    registry: prometheus.CollectorRegistry, name: str, says: str, *labels: str
) -> prometheus.Gauge:
    return prometheus.Gauge(f"{PREFIX}_{name}", says, labels, registry=registry)
