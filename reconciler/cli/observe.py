"""What `reconciler observe` does: look at clusters, and commit what changed as their reports.

Clusters are probed all at once, again and again. What is seen goes through the plan of an import,
so a report says what an import would, with its tolerance for amounts; a quiet fleet makes no
commit, and whatever changes within a while makes one together. A commit that others overtake is
thrown away: the reports are planned anew from what is seen by then.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import click
import httpx

from reconciler.cli.delivery import commit_author
from reconciler.cli.import_manifests import ATTEMPTS, pushed_text
from reconciler.cli.import_source import NOT_REPORTED
from reconciler.cli.operation import SHORTEST_SECRET, read_secret
from reconciler.cli.options import RemoteAccess, parse_author
from reconciler.cli.serving import default_mirror
from reconciler.cli.trust import SigningOptions, signing_key
from reconciler.cli.world import open_loader
from reconciler.core.changes import DeleteFile, WriteFile
from reconciler.core.dialects import DIALECTS, KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules
from reconciler.core.message import LONGEST_SUBJECT, CommitPurpose, Purpose, plain
from reconciler.errors import UsageError
from reconciler.imports.importers import REPLICA_SET, Wanted, asks_for_scheduling, with_scheduling
from reconciler.imports.observed import Probe
from reconciler.imports.plan import Became, plan_import, report_path
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field
from reconciler.model.settings import settings_in
from reconciler.model.text import enumerated, is_subdomain, short_id, shown
from reconciler.model.world import World
from reconciler.multicluster.cluster_profile import CLUSTER_PROFILE, access_to, member_id
from reconciler.shell.git.command import LostRace
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.objects import read_file
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.signing import CommitSigning
from reconciler.shell.observation.heartbeats import (
    MISSED,
    POSTED_SECONDS,
    REFERENCES,
    HeartbeatTokens,
    PostingSender,
    PushingSender,
    RegularSender,
    SilenceJudge,
    pushed_every,
)
from reconciler.shell.observation.kube_access import (
    KubeAccess,
    context_access,
    own_access,
    profile_access,
)
from reconciler.shell.observation.kube_api import KubeApi
from reconciler.shell.observation.observer import ClusterObserver, ObservedFrom
from reconciler.shell.passes.used_reports import bring_reports, cut, is_long
from reconciler.shell.reading.load import Loader
from reconciler.shell.renewed_secret import RenewedSecret
from reconciler.shell.reports.metrics import ObservationMetrics
from reconciler.shell.resources import Clock, SystemClock, load_schemas

NAMED = 3
SCORE_RANGE = 200  # from -100 to 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTarget:
    """Where reports go, and from which branch is read what clusters and workloads there are.

    `most_commits` is how long the branch of reports gets before it is cut, 0 for any length.
    """

    branch: str
    author: str | None
    signing: SigningOptions
    layout: RepositoryLayout
    tolerance_percent: int
    most_commits: int = 0


@dataclass(slots=True, eq=False)
class Reporter:
    """Reads what is declared, and commits what is seen.

    Attributes:
        mirror: Of the remote.
        target: Where reports go.
        clock: Says when a commit is made.
    """

    mirror: Mirror
    target: ReportTarget
    clock: Clock
    _loader: Loader | None = None
    _head: str = ""
    _rules: Rules = field(default_factory=lambda: Rules(load_schemas(), ADMISSIONS, KINDS))

    def read(self) -> World:
        """Return the repository as it is at the remote.

        Raises:
            UsageError: The remote has no such branch.
            GitError: It cannot be read now.
        """
        branch = self.target.branch
        head = self.mirror.fetch(branch)
        if head is None:
            raise UsageError(f'the remote has no branch "{branch}"; push one first')
        if not self._head:
            bring_reports(self.mirror.repository, head, self.mirror.fetch)
        if self._loader is None:
            self._loader = open_loader(self.mirror.repository, self.target.layout)
        self._head = head
        return self._loader.load(head, reports=self.mirror.fetch)

    def report(self, observers: Iterable[ObservedFrom]) -> str:
        """Commit and push what clusters have to report, and return a sentence, `""` for nothing.

        Raises:
            LostRace: Others pushed each time.
            GitError: The remote cannot be reached, or refuses.
        """
        observers = tuple(observers)
        for attempt in range(ATTEMPTS):
            try:
                return self._report(observers)
            except LostRace:
                if attempt + 1 == ATTEMPTS:
                    raise
        return ""

    def _report(self, observers: Iterable[ObservedFrom]) -> str:
        world = self.read()
        branch = settings_in(world).feedback_branch or self.target.branch
        head = self._head if branch == self.target.branch else world.reported_at or None
        files: dict[str, bytes | None] = {}
        changed: list[str] = []
        for observer in observers:
            found = self._files(world, observer, head)
            if found:
                changed.append(observer.name)
                files |= found
        if not files:
            return ""
        repository = self.mirror.repository
        subject = plain(f"Report {enumerated(changed, NAMED)}")[:LONGEST_SUBJECT]
        at, author = self.clock.now(), parse_author(self.target.author or commit_author(repository))
        signing = CommitSigning.by(
            signing_key(self.target.signing),
            CommitPurpose(Purpose.REPORTS, branch, repository.prefix),
        )
        with repository.held:
            commit = write_commit(
                repository,
                [
                    DeleteFile(path) if data is None else WriteFile(path, data.decode())
                    for path, data in sorted(files.items())
                ],
                parent=head,
                message=f"{subject}\n",
                at=at,
                author=author,
                signing=signing,
            )
            if head is not None and self._is_cut(world, branch, head):
                message = f"{subject}\n"
                commit = cut(
                    repository, commit, head, message=message, at=at, author=author, signing=signing
                )
                self.mirror.replace(branch, old=head, new=commit)
                return f"{subject}: {branch} begins anew with {short_id(commit)}"
            self.mirror.push(branch, old=head, new=commit)
        return f"{subject}: {pushed_text(len(files), branch, commit)}"

    def _is_cut(self, world: World, branch: str, head: str) -> bool:
        """Return whether the branch of reports is long enough to be cut, and may be."""
        most = self.target.most_commits
        apart = branch != self.target.branch and settings_in(world).keeps_used
        return bool(most and apart and is_long(self.mirror.repository, head, most - 1))

    def _files(
        self, world: World, observer: ObservedFrom, head: str | None
    ) -> Mapping[str, bytes | None]:
        """Return the files that say what a cluster reports, those that differ; `None` for no file.

        Unlike an import, which leaves it to a person, what is no longer there is not reported any
        more: as an old report it would count as soon as the object is placed there again.
        """
        repository = self.mirror.repository
        prefix = f"{repository.prefix}/" if repository.prefix else ""

        def content(path: str) -> bytes:
            return b"" if head is None else read_file(repository, head, f"{prefix}{path}") or b""

        live = tuple(observer.live(clusters_named(world, observer.name)))
        wanted = Wanted(
            cluster=observer.name,
            tolerance_percent=self.target.tolerance_percent,
            listed=observer.listed,
        )
        told = with_scheduling(live, world, observer.name, observer.listed)
        plan = plan_import(world, content, told, wanted, self._rules)
        gone = (one for one in plan.objects if one.became is Became.GONE)
        own = {one.path: None for one in gone if one.path == report_path(observer.name, one.key)}
        return {**plan.files, **(own if observer.probe is Probe.WELL else {})}


def clusters_named(world: World, name: str) -> Mapping[Kind, Body]:
    """Return as what a cluster is declared, by kind, with the status that it reported last."""
    bodies: dict[Kind, Body] = {}
    for dialect in DIALECTS:
        key = ObjectKey(*dialect.cluster, "", name)
        declared = world.inputs.get(key)
        report = world.feedback.get(key._replace(reporter=name))
        if declared is not None:
            said = {} if report is None else {"status": at(report.body, "status")}
            bodies[dialect.cluster] = {**declared.body, **said}
    return bodies


def declared_clusters(world: World) -> frozenset[str]:
    """Return the names of all clusters that people declare."""
    kinds = {dialect.cluster for dialect in DIALECTS}
    return frozenset(key.name for key in world.inputs if key[:2] in kinds)


def reported_kinds(world: World) -> frozenset[Kind]:
    """Return the kinds of which clusters are to report."""
    kinds = {key[:2] for key in world.inputs if key.group not in world.known.groups}
    return (
        frozenset(kinds | ({REPLICA_SET} if asks_for_scheduling(world) else set())) - NOT_REPORTED
    )


@dataclass(slots=True, eq=False)
class Observation:
    """Rounds over all clusters, which cost the remote a look in a while.

    Attributes:
        reporter: Commits what is seen.
        observers: The clusters.
        clock: Tells the time.
        every: How long a commit follows another one at the earliest.
        say: Tells people.
        judge: Judges the silence of observers elsewhere, `None` for nobody. Where it hears one that
            holds our clusters, we stand by.
        sender: Sends our own heartbeats, `None` for none.
        metrics: Count what is seen.
    """

    reporter: Reporter
    observers: tuple[ClusterObserver, ...]
    clock: Clock
    every: timedelta
    say: Callable[[str], None]
    judge: SilenceJudge | None = None
    sender: RegularSender | None = None
    metrics: ObservationMetrics = field(default_factory=ObservationMetrics)
    _world: World | None = None
    _read_at: datetime | None = None
    _reported: object = None
    _reported_at: datetime | None = None
    _problems: frozenset[str] = frozenset()

    async def round(self) -> str:
        """Look at every cluster once, and report what changed if it is time for that."""
        now = self.clock.now()
        if self.sender is not None:
            await self.sender.send(len(self._declared), now)
        due = self._is_due(self._reported_at, now)
        fresh = self._world is None or self._is_due(self._read_at, now)
        observers, seen = await self._look(now, fresh=fresh)
        if due and not fresh and seen != self._reported:  # others may have said more by now
            observers, seen = await self._look(now, fresh=True)
        self._tell({*self.observers, *observers})
        if not due or seen == self._reported:
            self.metrics.ended(now)
            return ""
        said = await asyncio.to_thread(self.reporter.report, observers)
        self.metrics.ended(now)
        self._reported, self._reported_at = seen, now
        self._world = None  # what is reported by now may be ours, or that of others
        for one in observers:
            one.note_reported()
        if said:
            self.say(said)
        return said

    async def _look(self, now: datetime, *, fresh: bool) -> tuple[tuple[ObservedFrom, ...], object]:
        """Look at every cluster, as the repository is or was; return who may report, and what."""
        if fresh or self._world is None:
            self._world, self._read_at = await asyncio.to_thread(self.reporter.read), now
        world, kinds = self._world, reported_kinds(self._world)
        if self.judge is not None:
            await asyncio.to_thread(self.judge.look, self._declared, now)
        observers = self._acting
        await asyncio.gather(
            *(one.look(clusters_named(world, one.name), kinds, now) for one in observers),
            *(one.stand_by() for one in self.observers if one not in observers),
        )
        return observers, (world, [(one.name, _copied(one.token)) for one in observers])

    def _is_due(self, last: datetime | None, now: datetime) -> bool:
        """Return whether it is time again for what was done at some moment, `None` for never."""
        return last is None or now >= last + self.every

    @property
    def _acting(self) -> tuple[ObservedFrom, ...]:
        """Who has something to report: those observed here unless we stand by, and silent ones."""
        judge = self.judge
        if judge is None:
            return self.observers
        own = self.observers if judge.stands_in or not judge.holder else ()
        return own + judge.clusters(but={one.name for one in own})

    @property
    def _declared(self) -> frozenset[str]:
        """The names of all clusters, none before the first look."""
        return frozenset() if self._world is None else declared_clusters(self._world)

    def _tell(self, observers: Iterable[ObservedFrom]) -> None:
        """Say what keeps us from seeing clusters, each once until it is over."""
        observers = tuple(observers)
        problems = frozenset(line for one in observers for line in one.problems())
        if self.judge is not None:
            problems |= frozenset(self.judge.problems())
        unsent = "" if self.sender is None else self.sender.problem
        problems |= frozenset({unsent} if unsent else ())
        self.metrics.looked(
            Counter(one.state for one in observers),
            silent=0 if self.judge is None else len(self.judge.silent_observers),
            stands_in=self.judge is not None and self.judge.stands_in,
            unsent=bool(unsent),
        )
        for line in sorted(problems - self._problems):
            self.say(line)
        self._problems = problems


def _copied(token: object) -> object:
    health, *rest = token if isinstance(token, tuple) else (token,)
    return (dict(health), *rest) if isinstance(health, Mapping) else token


@contextmanager
def open_reporter(
    remote: str, own: Path | None, access: RemoteAccess, target: ReportTarget
) -> Iterator[Reporter]:
    """Open a mirror of the remote of our own; a daemon may have the other one."""
    own = own or default_mirror(remote).with_suffix(".observe.git")
    seconds = access.remote_timeout_seconds
    with Mirror.open(remote, own, access=access.read(), timeout_seconds=seconds) as mirror:
        mirror.recover()
        yield Reporter(mirror, target, SystemClock())


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """Which clusters are reached as their ClusterProfiles say.

    Attributes:
        access_provider: The name of the way, `None` for none.
        access_tokens: Has a token for each cluster, in a file of its name.
        access_host: Hosts, and domains of them, that tokens may go to.
    """

    access_provider: str | None = None
    access_tokens: Path | None = None
    access_host: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise `UsageError` where options have no effect without another."""
        if self.access_provider is None and (self.access_tokens or self.access_host):
            raise UsageError("--access-tokens and --access-host require --access-provider")

    def accesses(self, world: World) -> dict[str, KubeAccess]:
        """Return how each cluster is reached that names the way, by its name.

        Raises:
            UsageError: The options do not go together, or one cannot be reached so.
        """
        provider, tokens = self.access_provider, self.access_tokens
        if provider is None:
            return {}
        if tokens is None or not self.access_host:
            raise UsageError("--access-provider requires --access-tokens and --access-host")
        declared, opened = declared_clusters(world), dict[str, KubeAccess]()
        for profile in world.of_kind(*CLUSTER_PROFILE):
            name = member_id(profile) or profile.key.name
            way = access_to(profile, provider)
            if way is not None and name in declared and name not in opened:
                opened[name] = profile_access(way, tokens / name, self.access_host)
        return opened


HEARTBEAT_TOKEN = "RECONCILER_HEARTBEAT_TOKEN"  # noqa: S105  # the name of a variable
HEARTBEAT_TOKENS = "RECONCILER_HEARTBEAT_TOKENS"
AT_REMOTE = "remote"
LONGEST_TOKENS_BYTES = 1 << 20  # of ten thousand clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatOptions:
    """Whether we send heartbeats, and whether we judge the silence of others.

    Attributes:
        heartbeat: URL of the judge, or `remote`; `None` for no heartbeats.
        heartbeat_name: Whose they are, `None` for the cluster that we run in.
        heartbeat_token_file: Has the token for the URL.
        judge: Whether we judge silence.
        stand_by: The observer whose clusters we report only while it is silent, `None` for nobody.
        listen: Where we hear those that are posted, `None` for nowhere.
        heartbeat_tokens_file: Has who may post them.
    """

    heartbeat: str | None = None
    heartbeat_name: str | None = None
    heartbeat_token_file: Path | None = None
    judge: bool = False
    stand_by: str | None = None
    listen: str | None = None
    heartbeat_tokens_file: Path | None = None

    def check(self) -> None:
        """Raise `UsageError` where options have no effect without another."""
        if self.heartbeat is None and (self.heartbeat_name or self.heartbeat_token_file):
            raise UsageError("--heartbeat-name and --heartbeat-token-file require --heartbeat")
        if self.heartbeat == AT_REMOTE and self.heartbeat_token_file:
            raise UsageError("--heartbeat-token-file is for a URL: --heartbeat remote needs none")
        if self.stand_by is not None and self.stand_by in ("", self.heartbeat_name):
            raise UsageError("--stand-by must be the --heartbeat-name of another observer")
        for option, name in (
            ("--heartbeat-name", self.heartbeat_name),
            ("--stand-by", self.stand_by),
        ):
            if name is not None and not is_subdomain(name):
                raise UsageError(
                    f'{option} must consist of lower-case letters, digits, "-" and ".", '
                    f"not {shown(name)}"
                )

    def check_in(self, world: World, observed: Container[str | None]) -> None:
        """Raise `UsageError` where the silence of a cluster could not be told from ours."""
        name = self.heartbeat_name
        if name is not None and name in declared_clusters(world) and name not in observed:
            raise UsageError(f"--heartbeat-name {name} is a cluster that is not observed here")

    def sender(
        self, own: str | None, mirror: Mirror, seconds: float, client: httpx.AsyncClient
    ) -> RegularSender | None:
        """Return what sends our heartbeats.

        Args:
            own: The cluster that we run in, `None` for none.
            mirror: Of the remote.
            seconds: Between two that are posted.
            client: That posts them.

        Raises:
            UsageError: It is not said whose they are, or nothing proves it.
        """
        name = self.heartbeat_name or own
        if self.heartbeat is None:
            return None
        if name is None:
            raise UsageError("--heartbeat needs --heartbeat-name, since no --in-cluster names it")
        if self.heartbeat == AT_REMOTE:
            return RegularSender(PushingSender(mirror, name))
        if not self.heartbeat.startswith(("http://", "https://")):
            raise UsageError(f"--heartbeat must be a URL of http or https, or {AT_REMOTE}")
        file = self.heartbeat_token_file
        token = RenewedSecret(
            partial(read_secret, "--heartbeat-token-file", file, HEARTBEAT_TOKEN), file
        )
        if not token():
            raise UsageError(f"--heartbeat {self.heartbeat} needs --heartbeat-token-file")
        return RegularSender(PostingSender(self.heartbeat, name, token, seconds, client))

    @contextmanager
    def judging(self, mirror: Mirror, metrics: ObservationMetrics) -> Iterator[SilenceJudge | None]:
        """Judge silence, hear heartbeats, and serve metrics while the block lasts.

        Raises:
            UsageError: Nobody could be heard.
        """
        file = self.heartbeat_tokens_file
        option, longest = "--heartbeat-tokens-file", LONGEST_TOKENS_BYTES
        read = partial(read_secret, option, file, HEARTBEAT_TOKENS, longest)
        tokens = RenewedSecret(lambda: _checked_tokens(read()), file)
        hears = self.judge or self.stand_by is not None
        if tokens() and not (self.listen and hears):
            raise UsageError("--heartbeat-tokens-file requires --listen, and --judge or --stand-by")
        judge = None
        if hears:
            admitted = HeartbeatTokens(tokens.lines) if tokens() else None
            if admitted and not self.judge and self.stand_by not in admitted.names():
                raise UsageError(f"{option} has no line for {self.stand_by} (--stand-by)")
            references = partial(mirror.references, REFERENCES)
            judge = SilenceJudge(admitted, references, self.stand_by or "", self.judge)
        if self.listen is None:
            yield judge
            return
        from reconciler.shell.http.endpoints import observation_app
        from reconciler.shell.http.listener import Listener, parse_address

        hear = None if judge is None or judge.tokens is None else judge.hear
        with Listener(parse_address(self.listen), observation_app(metrics.text, hear)):
            yield judge


def _checked_tokens(text: str) -> str:
    """Return lines of a name and a token each.

    Raises:
        UsageError: One is none.
    """
    for line in filter(None, map(str.strip, text.splitlines())):
        _, _, token = line.partition(" ")
        if len(token.strip()) < SHORTEST_SECRET or " " in token.strip():
            raise UsageError(
                "--heartbeat-tokens-file must have a name, a blank and a token of at least "
                f"{SHORTEST_SECRET} characters on each line"
            )
    return text


def accesses(
    contexts: Iterable[str], kubeconfigs: str, own: str | None, service: tuple[str, str]
) -> dict[str, KubeAccess]:
    """Return how each cluster is reached, by its name.

    Args:
        contexts: Each `NAME` or `CLUSTER=CONTEXT`.
        kubeconfigs: The file that has them, or several, as `$KUBECONFIG` names them.
        own: The cluster that this runs in, `None` for none.
        service: Host and port of its API server.

    Raises:
        UsageError: One cannot be reached as it is written.
    """
    opened: dict[str, KubeAccess] = {}
    for word in contexts:
        name, _, context = word.partition("=")
        if name in opened:
            raise UsageError(f"--context names cluster {name} twice")
        opened[name] = context_access(kubeconfigs, context or name)
    if own is not None:
        opened[own] = own_access(*service)
    return opened


def run(
    directory: Path,
    *,
    contexts: tuple[str, ...],
    kubeconfig: str,
    in_cluster: str | None,
    service_host: str,
    service_port: str,
    remote: str,
    mirror: Path | None,
    branch: str,
    author: str | None,
    probe_seconds: float,
    commit_seconds: float,
    timeout_seconds: float,
    tolerance: int,
    scores: bool,
    most_commits: int,
    access: RemoteAccess,
    signing: SigningOptions,
    layout: RepositoryLayout,
    heartbeats: HeartbeatOptions,
    profiles: ProfileOptions,
) -> int:
    """Observe clusters until that is to end."""
    del directory
    reached = accesses(contexts, kubeconfig, in_cluster, (service_host, service_port))
    target = ReportTarget(
        branch=branch,
        author=author,
        signing=signing,
        layout=layout,
        tolerance_percent=tolerance,
        most_commits=most_commits,
    )
    profiles.check()
    heartbeats.check()
    if not (reached or profiles.access_provider):
        _check_observing_nothing(heartbeats, scores=scores)
    metrics = ObservationMetrics()
    with (
        open_reporter(remote, mirror, access, target) as reporter,
        heartbeats.judging(reporter.mirror, metrics) as judge,
    ):
        if most_commits and not settings_in(reporter.read()).keeps_used:
            raise UsageError(
                "--most-commits cuts the branch of reports, so reconciler.yaml must have "
                "feedback.branch and feedback.keepUsed: true"
            )
        client = httpx.AsyncClient(timeout=timeout_seconds)
        sender = heartbeats.sender(in_cluster, reporter.mirror, probe_seconds, client)
        world = reporter.read()
        reached = {**profiles.accesses(world), **reached}
        missing = sorted(name for name in reached if not clusters_named(world, name))
        if missing:
            raise UsageError(f"{branch} declares no cluster {enumerated(missing, NAMED)}")
        heartbeats.check_in(world, {*reached, in_cluster})
        observation = Observation(
            reporter,
            tuple(
                ClusterObserver(
                    name,
                    KubeApi(one, timeout_seconds=timeout_seconds),
                    score_points=max(1, SCORE_RANGE * tolerance // 100) if scores else None,
                )
                for name, one in sorted(reached.items())
            ),
            SystemClock(),
            timedelta(seconds=commit_seconds),
            lambda line: click.echo(line, err=True),
            judge,
            sender,
            metrics,
        )
        for line in _heartbeats_expected(heartbeats, judge, len(declared_clusters(world)), reached):
            observation.say(line)
        asyncio.run(_rounds(observation, probe_seconds, client))
    return 0


def _check_observing_nothing(heartbeats: HeartbeatOptions, *, scores: bool) -> None:
    """Raise `UsageError` where a process that observes no cluster would do nothing of use."""
    if heartbeats.stand_by is not None:
        raise UsageError("--stand-by needs clusters to observe")
    if scores:
        raise UsageError("--scores needs clusters to observe")
    if not heartbeats.judge:
        raise UsageError("name clusters with --context, or the one this runs in with --in-cluster")


def _heartbeats_expected(
    heartbeats: HeartbeatOptions,
    judge: SilenceJudge | None,
    clusters: int,
    observed: Iterable[str],
) -> Iterator[str]:
    """Yield when heartbeats are due, and what comes of their silence.

    Args:
        heartbeats: What is asked for.
        judge: Who hears them, `None` for nobody.
        clusters: How many the fleet has.
        observed: Those that this process observes.
    """
    every = pushed_every(clusters)
    if judge is not None and judge.holder:
        posts = judge.tokens is not None and judge.holder in judge.tokens.names()
        seconds = MISSED * (POSTED_SECONDS if posts else every)
        yield (
            f"standing by for {judge.holder}: after {seconds:g} s without its heartbeat "
            f"we report {enumerated(sorted(observed), NAMED)}"
        )
    if heartbeats.judge or heartbeats.heartbeat == AT_REMOTE:
        yield (
            f"heartbeats at the remote are due every {every:g} s; "
            f"after {MISSED * every:g} s without one their sender counts as silent"
        )


async def _rounds(
    observation: Observation,
    seconds: float,
    client: httpx.AsyncClient,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Go round after round; a remote that cannot be reached is tried again in the next one."""
    from reconciler.errors import ShellError

    try:
        while True:
            try:
                await observation.round()
            except ShellError as error:
                observation.say(str(error))
            observation.reporter.mirror.maintain()
            await wait(seconds)
    finally:
        await client.aclose()
        for one in observation.observers:
            await one.close()
