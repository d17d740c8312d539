"""Heartbeats: who is heard, who is silent, and what becomes of it."""

import asyncio
import random
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, PIPE

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.main import run
from reconciler.errors import ShellError
from reconciler.model.records import replace
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.http.endpoints import observation_app
from reconciler.shell.http.listener import Address, Listener
from reconciler.shell.observation.heartbeats import (
    MARKS,
    REFERENCES,
    Heartbeats,
    HeartbeatTokens,
    PostingSender,
    PushingSender,
    RegularSender,
    SilenceJudge,
    pushed_every,
)
from reconciler.shell.reports.metrics import ObservationMetrics
from tests.builders import Body, cluster, cluster_status, path_of, text
from tests.dialects.kubefleet.fleet import member as member_cluster
from tests.kube import loop
from tests.kube.journey import contexts
from tests.kube.loop import Fleet, managed, observed
from tests.kube.members import Member, kubeconfig, node, pod, running
from tests.kube.store import Store
from tests.shell.fleet import PATIENCE_SECONDS, eventually, process_environment
from tests.shell.repositories import NOW, FixedClock, git, new_bare
from tests.shell.servers import Certificate, new_certificate

TOKENS = ("member1 first-token-of-ours", "member2 other-token-of-ours", "far out-of-all-clusters")
LISTED = HeartbeatTokens(lambda: TOKENS)


def listening(tokens: HeartbeatTokens | None = LISTED) -> SilenceJudge:
    """A judge that no remote tells anything."""
    return SilenceJudge(tokens, dict)


def heard(judge: SilenceJudge, second: int, *names: str) -> SilenceJudge:
    """Look at a moment at which some are heard."""
    for name in names:
        judge.posted.hear(name, 10)
    judge.look({"member1", "member2"}, NOW + timedelta(seconds=second))
    return judge


def test_silence_begins_with_the_last_heartbeat() -> None:
    """Karmada waits for 40 s, Open Cluster Management for five minutes."""
    judge = listening()
    for second in range(0, 101, 10):
        heard(judge, second, "member1")
    for second in range(110, 131, 10):
        assert not heard(judge, second).is_silent("member1", 40)

    assert heard(judge, 140).is_silent("member1", 40)
    assert not judge.is_silent("member1", 300)
    assert not heard(judge, 141, "member1").is_silent("member1", 0)


def test_who_sends_seldom_is_silent_later() -> None:
    """After four of its own heartbeats that did not come."""
    beats = Heartbeats()
    beats.hear("a", 60)
    for second in range(0, 240, 10):
        beats.look(NOW + timedelta(seconds=second), {"a": 10})
        assert not beats.is_silent("a", 40)
    beats.look(NOW + timedelta(seconds=240), {"a": 10})

    assert beats.is_silent("a", 40)


def test_a_judge_that_begins_anew_waits_for_one_grace_period() -> None:
    """Nothing of before is known."""
    judge = listening()
    for second in (0, 10, 20, 30):
        assert not heard(judge, second).is_silent("member1", 40)

    assert heard(judge, 40).is_silent("member1", 40)


def test_what_was_not_listened_to_is_no_silence() -> None:
    """A process that was stopped for an hour has heard nothing in it."""
    judge = listening()
    for second in (0, 10):
        heard(judge, second, "member1")

    assert not heard(judge, 3610).is_silent("member1", 40)
    assert not heard(judge, 3615, "member1").is_silent("member1", 40)


@given(
    st.lists(st.tuples(st.integers(1, 30), st.booleans(), st.booleans()), min_size=1, max_size=60)
)
def test_nobody_is_silent_who_was_heard_within_the_grace_period(
    looks: list[tuple[int, bool, bool]],
) -> None:
    """And whoever was listened to in vain for all of it is, restarts between them or not."""
    judge, second, since = listening(), 0, 0
    for passed, beats, restarted in looks:
        second += passed
        if restarted:
            judge, since = listening(), second
        heard(judge, second, *(["member1"] if beats else []))
        since = second if beats else since
        if judge.is_silent("member1", 40):
            assert second - since >= 40
        if second - since < 40:
            assert not judge.is_silent("member1", 40)


def test_a_token_counts_for_its_own_name() -> None:
    """Whoever has that of one cluster keeps no other one alive."""
    judge = listening()

    assert judge.hear("member1", "first-token-of-ours", 10)
    assert not judge.hear("member2", "first-token-of-ours", 10)
    assert not judge.hear("member1", "", 10)
    assert not judge.hear("nobody", "first-token-of-ours", 10)
    assert not listening(None).hear("member1", "first-token-of-ours", 10)


def test_an_observer_from_outside_says_nothing_of_clusters() -> None:
    """Its silence is told, and no cluster is judged by it."""
    judge = listening()
    for second in range(0, 50, 10):
        heard(judge, second, "member1", "member2")

    assert ["observer far is silent: what it reported stays as it is, and gets old"] == [
        *judge.problems()
    ]
    assert ["member1", "member2"] == [one.name for one in judge.clusters()]


def test_a_remote_that_cannot_be_asked_makes_nobody_silent(tmp_path: Path) -> None:
    """Until it was asked in vain for a grace period."""
    reachable = True

    def references() -> Mapping[str, str]:
        if not reachable:
            raise ShellError("the forge is away")
        return {"member1": "a"}

    judge = SilenceJudge(None, references)
    judge.look({"member1"}, NOW)
    reachable = False
    for minute in range(1, 60):
        judge.look({"member1"}, NOW + timedelta(minutes=minute))
    assert ["the heartbeats at the remote cannot be read: the forge is away"] == [*judge.problems()]
    reachable = True
    for minute in range(60, 64):
        judge.look({"member1"}, NOW + timedelta(minutes=minute))
        assert not judge.is_silent("member1", 40)
    judge.look({"member1"}, NOW + timedelta(minutes=64))

    assert judge.is_silent("member1", 40)
    assert not [*judge.problems()]


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    """A mirror of a remote with one cluster."""
    body = cluster("member1", status=cluster_status())
    remote = new_bare(tmp_path / "remote", {path_of(body): text(body)})
    with Mirror.open(f"file://{remote}", tmp_path / "own.git") as opened:
        yield opened


def test_a_reference_moves_without_history(mirror: Mirror, tmp_path: Path) -> None:
    """Each push moves it, and the remote never holds more than a few commits of it."""
    sender = PushingSender(mirror, "member1")
    moved = set()

    async def beats() -> None:
        for _ in range(MARKS + 6):
            before = mirror.references(REFERENCES).get("member1")
            await sender.send()
            now = mirror.references(REFERENCES)["member1"]
            assert now != before
            moved.add(now)

    asyncio.run(beats())
    reference = f"{REFERENCES}/member1"
    assert MARKS == len(moved)
    remote = tmp_path / "remote"
    assert "1" == git(remote, "rev-list", "--count", reference)
    assert "" == git(remote, "ls-tree", reference)


def test_pushed_heartbeats_follow_the_size_of_the_fleet(mirror: Mirror) -> None:
    """And silence counts from four of them."""
    assert (60.0, 60.0, 1000.0) == tuple(map(pushed_every, (1, 30, 500)))
    judge = SilenceJudge(None, partial(mirror.references, REFERENCES))
    sender = PushingSender(mirror, "member1")

    async def minute(number: int, *, beats: bool) -> bool:
        if beats:
            await sender.send()
        judge.look({"member1"}, NOW + timedelta(minutes=number))
        return judge.is_silent("member1", 40)

    async def story() -> None:
        for number in range(5):
            assert not await minute(number, beats=True)
        for number in range(5, 8):
            assert not await minute(number, beats=False)
        assert await minute(8, beats=False)
        assert not await minute(9, beats=True)

    asyncio.run(story())


@contextmanager
def served(judge: SilenceJudge) -> Iterator[str]:
    """Hear heartbeats on the loopback; yields the URL."""
    with Listener(
        Address("127.0.0.1", 0), observation_app(ObservationMetrics().text, judge.hear)
    ) as listener:
        yield f"http://127.0.0.1:{listener.address.port}"


def posting(url: str, client: httpx.AsyncClient, position: int = 0) -> PostingSender:
    """What posts heartbeats of the first member, with one of the tokens."""
    token = TOKENS[position].split()[1]
    return PostingSender(url, "member1", lambda: token, 10, client)


def sent(story: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    """Run a story with a client."""

    async def whole() -> None:
        async with httpx.AsyncClient(timeout=5) as client:
            await story(client)

    asyncio.run(whole())


def test_a_heartbeat_is_posted() -> None:
    """It is heard with its interval; who has another token is told so."""
    judge = listening()

    async def story(client: httpx.AsyncClient) -> None:
        await posting(url, client).send()
        with pytest.raises(ShellError, match="of member1 with 401"):
            await posting(url, client, 1).send()
        with pytest.raises(ShellError, match="with 400"):
            await replace(posting(url, client), seconds=0.5).send()

    with served(judge) as url:
        sent(story)
    judge.look({"member1"}, NOW)
    assert judge.is_silent("member1", 0) is False


def test_one_that_fails_is_sent_again_before_the_judge_counts() -> None:
    """At the next interval, then after two of them; later where a server asks for that."""
    answers: list[httpx.Response] = []
    asked: list[int] = []
    clock = FixedClock()

    def answer(_: httpx.Request) -> httpx.Response:
        asked.append(int((clock.moment - NOW).total_seconds()))
        return answers.pop(0) if answers else httpx.Response(204)

    async def story() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            sender = RegularSender(posting("http://judge", client))
            answers[:] = [
                httpx.Response(500),
                httpx.Response(503),
                httpx.Response(429, headers={"Retry-After": "45"}),
            ]
            for second in range(0, 120, 5):
                clock.moment = NOW + timedelta(seconds=second)
                await sender.send(1, clock.moment)
                assert bool(sender.problem) == (second < 75)

    asyncio.run(story())
    assert [0, 10, 30, 75, 85, 95, 105, 115] == asked


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """That of every server."""
    return new_certificate(tmp_path_factory.mktemp("certificate"))


class Pair:
    """A cluster with an observer within, and a judge elsewhere."""

    def __init__(self, within: Fleet, elsewhere: Fleet, member: Member) -> None:
        self.within, self.elsewhere, self.member = within, elsewhere, member
        judge = listening(HeartbeatTokens(lambda: TOKENS[:1]))
        elsewhere.observation.judge = self.judge = judge
        self.alive = True

    async def go(self, seconds: int, *, heard: bool = True) -> None:
        """Go on for so long."""
        for _ in range(seconds // 10):
            if self.alive:
                if heard:
                    self.judge.posted.hear("member1", 10)
                await self.within.round(10)
            else:
                self.within.clock.moment += timedelta(seconds=10)
            self.elsewhere.clock.moment = self.within.clock.moment
            await self.elsewhere.observation.round()

    def report(self) -> str:
        """What the cluster reports."""
        return self.within.report("member1")


@pytest.fixture
def paired(certificate: Certificate, tmp_path: Path) -> Iterator[Callable[[Body], Pair]]:
    """Opens a pair of observers of one cluster."""
    with ExitStack() as stack:
        member = stack.enter_context(running("member1", certificate))
        member.put(node("n1"), pod("a"))
        members = {"member1": member}
        open_one = partial(loop.opened, stack, tmp_path, members, certificate)

        def pair(body: Body) -> Pair:
            within = open_one(body, names=("member1",))
            return Pair(within, open_one(names=()), member)

        yield pair


@pytest.mark.cpu_seconds(60)
@pytest.mark.parametrize(
    ("body", "grace", "expected"),
    [
        pytest.param(cluster("member1"), 40, "ClusterStatusUnknown", id="karmada"),
        pytest.param(managed("member1"), 300, "ManagedClusterLeaseUpdateStopped", id="ocm"),
        pytest.param(member_cluster("member1"), 40, "HeartbeatStopped", id="kubefleet"),
    ],
)
def test_a_cluster_that_dies_with_its_observer_is_reported(
    paired: Callable[[Body], Pair], body: Body, grace: int, expected: str
) -> None:
    """After the grace period of its API, with its room as it was; it returns by itself."""
    pair = paired(body)

    async def story() -> None:
        await pair.go(120)
        room = {line for line in pair.report().splitlines() if "cpu" in line}
        pair.alive = False
        await pair.go(grace - 10)
        assert expected not in pair.report()
        await pair.go(80)
        assert expected in pair.report()
        assert room <= {*pair.report().splitlines()}
        told = pair.within.commits()
        await pair.go(600)
        assert told == pair.within.commits()
        assert b'observed_clusters{state="silent"} 1.0' in pair.elsewhere.observation.metrics.text()
        pair.alive = True
        await pair.go(130)
        assert expected not in pair.report()
        assert told + 1 == pair.within.commits()

    observed(pair.within, story)
    assert b'observed_clusters{state="silent"} 0.0' in pair.elsewhere.observation.metrics.text()
    assert ["member1: its observer is silent, so it is reported so"] == [
        line for line in pair.elsewhere.said if "silent" in line
    ]


@pytest.mark.cpu_seconds(60)
def test_who_is_reported_well_is_not_silent_for_others(paired: Callable[[Body], Pair]) -> None:
    """An observer that reaches the forge and not the judge: its report counts, once and for all."""
    pair = paired(cluster("member1"))

    async def story() -> None:
        await pair.go(120)
        await pair.go(240, heard=False)
        assert "ClusterReady" in pair.report()
        told = pair.within.commits()
        await pair.go(900, heard=False)
        assert told == pair.within.commits()
        await pair.go(60)
        pair.alive = False
        await pair.go(130)
        assert "ClusterStatusUnknown" in pair.report()

    observed(pair.within, story)
    assert [line for line in pair.elsewhere.said if "somebody else reports" in line]


@pytest.mark.cpu_seconds(60)
def test_a_cluster_that_was_never_reported_counts_as_it_is_written(
    paired: Callable[[Body], Pair],
) -> None:
    """It is told that nobody hears it."""
    pair = paired(cluster("member1"))
    pair.alive = False

    async def story() -> None:
        await pair.go(300)

    observed(pair.within, story)
    assert "" == pair.report()
    assert [line for line in pair.elsewhere.said if "was never heard" in line]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["--heartbeat", "remote"], "needs --heartbeat-name", id="nobody"),
        pytest.param(
            ["--heartbeat", "ftp://a", "--heartbeat-name", "a"], "URL of http", id="no-url"
        ),
        pytest.param(
            ["--heartbeat", "http://a", "--heartbeat-name", "a"], "-token-file", id="no-token"
        ),
        pytest.param(["--stand-by", "east"], "needs clusters to observe", id="nothing-to-hold"),
        pytest.param(
            ["--stand-by", "a", "--heartbeat", "remote", "--heartbeat-name", "a"],
            "of another observer",
            id="itself",
        ),
        pytest.param(
            ["--heartbeat", "remote", "--heartbeat-name", "a b/c"], "lower-case", id="no-name"
        ),
        pytest.param(["--stand-by", "East"], "must consist of lower-case", id="nobodys-name"),
        pytest.param(
            ["--heartbeat", "remote", "--heartbeat-name", "a"],
            "a cluster that is not observed here",
            id="another-cluster",
        ),
        pytest.param(
            ["--heartbeat", "remote", "--heartbeat-name", "x", "--heartbeat-token-file", "f"],
            "is for a URL",
            id="token-for-nobody",
        ),
        pytest.param(["--scores"], "--scores needs clusters to observe", id="scores-of-nobody"),
    ],
)
def test_what_cannot_be_heard_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    """Before anything is observed."""
    body = cluster("a")
    remote = new_bare(tmp_path / "remote", {path_of(body): text(body)})
    options = ["--remote", f"file://{remote}", "--mirror", str(tmp_path / "own.git")]
    judged = [] if "--judge" in arguments else ["--judge"]

    assert 2 == run(["observe", *options, *judged, *arguments])
    assert expected in capsys.readouterr().err


def test_a_file_of_tokens_has_a_name_and_a_token_on_each_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is too short to be one is refused."""
    file = tmp_path / "tokens"
    file.write_text("member1 first-token-of-ours\nmember2 short\n")
    remote = new_bare(tmp_path / "remote", {"a.yaml": text(cluster("a"))})
    options = ["--remote", f"file://{remote}", "--mirror", str(tmp_path / "own.git")]

    assert 2 == run(["observe", *options, "--heartbeat-tokens-file", str(file), "--judge"])
    listening = ["--judge", "--listen", "0", "--heartbeat-tokens-file", str(file)]
    assert 2 == run(["observe", *options, *listening])
    assert "a name, a blank and a token" in capsys.readouterr().err


def test_whoever_stands_by_hears_only_who_has_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that is misspelt is told at once, not by what is reported an hour later."""
    file = tmp_path / "tokens"
    file.write_text("east first-token-of-ours\n")
    remote = new_bare(tmp_path / "remote", {"a.yaml": text(cluster("a"))})
    with contexts(tmp_path, {"a": Store("a", ())}) as config:
        options = ["--remote", f"file://{remote}", "--mirror", str(tmp_path / "own.git")]
        reached = ["--context", "a", "--kubeconfig", str(config)]
        heard = ["--listen", "0", "--heartbeat-tokens-file", str(file)]

        assert 2 == run(["observe", *options, *reached, *heard, "--stand-by", "esat"])
    assert "has no line for esat (--stand-by)" in capsys.readouterr().err


def test_whoever_stands_by_says_for_whom_and_with_what(tmp_path: Path) -> None:
    """Whatever else the holder observes: what is not observed here is not reported here."""
    remote = new_bare(
        tmp_path / "remote", {f"{name}.yaml": text(cluster(name)) for name in ("a", "b")}
    )
    with contexts(tmp_path, {"a": Store("a", ())}) as config:
        options = ["--remote", f"file://{remote}", "--mirror", str(tmp_path / "own.git")]
        reached = ["--context", "a", "--kubeconfig", str(config), "--stand-by", "b"]
        command = [sys.executable, "-m", "reconciler", "observe", *options, *reached]
        process = subprocess.Popen(command, env=process_environment(), stderr=PIPE, text=True)
        with process:
            said = "" if process.stderr is None else process.stderr.readline()
            process.kill()

    assert "standing by for b: after 240 s without its heartbeat we report a" in said


class Standing:
    """Two observers of one cluster over networks of their own: a holder, and one that stands by."""

    def __init__(self, holder: Fleet, second: Fleet, apart: Member) -> None:
        self.holder, self.second, self.apart = holder, second, apart
        second.observation.judge = self.judge = replace(listening(), holder="far", judges=False)
        self.alive = True

    async def go(self, seconds: int) -> None:
        """Go on for so long; a holder that is alive is heard."""
        for _ in range(seconds // 10):
            if self.alive:
                self.judge.posted.hear("far", 10)
                await self.holder.round(10)
            else:
                self.holder.clock.moment += timedelta(seconds=10)
            self.second.clock.moment = self.holder.clock.moment
            await self.second.round(0)

    async def end(self) -> None:
        """Let the second one end."""
        for one in self.second.observation.observers:
            await one.close()

    @property
    def asked(self) -> set[str]:
        """What the second one asked its network since the last time."""
        asked, self.apart.asked[:] = {*self.apart.asked}, []
        return asked

    def report(self) -> str:
        """What the cluster reports."""
        return self.holder.report("member1")


@pytest.fixture
def standing(certificate: Certificate, tmp_path: Path) -> Iterator[Standing]:
    """A holder and one that stands by, with a cluster that both reach."""
    body = cluster("member1")
    with ExitStack() as stack:
        found = [stack.enter_context(running("member1", certificate)) for _ in range(2)]
        for one in found:
            one.put(node("n1"), pod("a"))
        holder, second = (
            loop.opened(stack, tmp_path, {"member1": one}, certificate, body, names=("member1",))
            for one in found
        )
        yield Standing(holder, second, found[1])


@pytest.mark.cpu_seconds(60)
def test_a_second_observer_acts_while_the_holder_is_silent(standing: Standing) -> None:
    """Before and after that it probes, so that a refusal is seen, and reports nothing."""

    async def story() -> None:
        second = standing.second.observation
        await standing.go(130)
        assert {"/readyz"} == standing.asked
        assert b"reconciler_stands_in 0.0" in second.metrics.text()
        told = standing.holder.commits()
        standing.apart.put(node("n1", cpu="8"))
        standing.alive = False
        await standing.go(30)
        assert {"/readyz"} == standing.asked
        await standing.go(140)
        assert b"reconciler_stands_in 1.0" in second.metrics.text()
        assert 'cpu: "8"' in standing.report()
        assert told + 1 == standing.holder.commits()
        standing.apart.dead = True
        await standing.go(20)
        assert "ClusterReady" in standing.report()
        await standing.go(100)
        assert "ClusterNotReachable" in standing.report()
        standing.apart.dead = False
        standing.alive = True
        await standing.go(200)
        standing.asked  # noqa: B018  # from here on
        await standing.go(60)
        assert {"/readyz"} == standing.asked
        assert "ClusterReady" in standing.report()
        await standing.end()

    observed(standing.holder, story)
    said = standing.second.said
    assert 1 == said.count("observer far is silent, so this one reports its clusters")


@pytest.mark.cpu_seconds(60)
def test_a_restart_of_the_holder_moves_nothing(standing: Standing) -> None:
    """Nor does a network of the second one in which the cluster is dead."""

    async def story() -> None:
        await standing.go(130)
        standing.apart.dead = True
        told = standing.holder.commits()
        for _ in range(3):
            await standing.go(130)
            standing.alive = False
            await standing.go(30)
            standing.alive = True
        assert told == standing.holder.commits()
        await standing.end()

    observed(standing.holder, story)


@pytest.mark.cpu_seconds(60)
def test_a_success_of_the_holder_beats_the_failure_of_the_second(standing: Standing) -> None:
    """Whose network was dead when it had to act; then it says no more of that cluster."""

    async def story() -> None:
        await standing.go(130)
        standing.apart.dead, standing.alive = True, False
        await standing.go(200)
        assert "ClusterNotReachable" in standing.report()
        standing.alive = True
        await standing.go(130)
        assert "ClusterReady" in standing.report()
        told = standing.holder.commits()
        await standing.go(300)
        assert told == standing.holder.commits()
        await standing.end()

    observed(standing.holder, story)


def test_a_holder_that_was_never_heard_is_silent() -> None:
    """After four heartbeats, be they pushed or posted; one whose reference moves holds."""
    marks: dict[str, str] = {}

    def acts_after(judge: SilenceJudge, minutes: int) -> list[bool]:
        found = []
        for minute in range(minutes):
            judge.look({"member1"}, NOW + timedelta(minutes=minute))
            found.append(judge.stands_in)
        return found

    def pushed() -> SilenceJudge:
        return SilenceJudge(None, lambda: {**marks}, holder="east", judges=False)

    assert [False] * 4 + [True] == acts_after(pushed(), 5)
    assert [False] * 2 + [True] == acts_after(replace(listening(), holder="far"), 3)
    marks["east"] = "a"
    judge = pushed()
    for minute in range(9):
        marks["east"] = str(minute)
        judge.look({"member1"}, NOW + timedelta(minutes=minute))
        assert not judge.stands_in


class Killed(BaseException):
    """A process ends here, whatever it was about to do."""


@dataclass(slots=True)
class Campaign:
    """One cluster, its observer and its judge, either of which is killed now and then.

    Attributes:
        opening: Opens an observer of the cluster, or one of nothing.
        member: The cluster.
        draws: What happens when.
        within: The observer in the cluster.
        elsewhere: The judge.
        heard: The seconds at which a heartbeat was heard.
        outages: How often the cluster was away for longer than the grace period.
    """

    opening: Callable[..., Fleet]
    member: Member
    draws: random.Random
    within: Fleet
    elsewhere: Fleet
    second: int = 0
    heard: list[int] = field(default_factory=list)
    outages: int = 0

    async def go(self, seconds: int, *, alive: bool, kills: bool) -> None:
        """Go on for so long, with a cluster that runs or does not."""
        self.member.dead = not alive
        for _ in range(seconds // 10):
            self.second += 10
            if alive:
                self.judge.posted.hear("member1", 10)
                self.heard.append(self.second)
                self.within = await self._round(self.within, ("member1",), kills=kills)
            self.elsewhere = await self._round(self.elsewhere, (), kills=kills)

    @property
    def judge(self) -> SilenceJudge:
        """That of the process that runs now."""
        assert self.elsewhere.observation.judge is not None
        return self.elsewhere.observation.judge

    async def _round(self, fleet: Fleet, names: tuple[str, ...], *, kills: bool) -> Fleet:
        """Let a process look once, and return the one that runs afterwards."""
        fleet.clock.moment = NOW + timedelta(seconds=self.second)
        mirror = fleet.observation.reporter.mirror
        push, drawn = Mirror.push, self.draws.random() if kills else 1.0

        def killed(branch: str, *, old: str | None, new: str) -> None:
            if drawn < 0.3:
                push(mirror, branch, old=old, new=new)
            if drawn < 0.6:
                raise Killed
            push(mirror, branch, old=old, new=new)

        mirror.push = killed  # type: ignore[method-assign]
        ended = kills and drawn > 0.95
        try:
            if not ended:
                await fleet.observation.round()
        except Killed:
            ended = True
        if ended:
            for one in fleet.observation.observers:
                await one.close()
            return begun(self.opening(names=names))
        await asyncio.gather(*(one.synced() for one in fleet.observation.observers))
        return fleet

    def verdicts(self) -> list[tuple[int, str]]:
        """What was reported of the cluster, with its second, each time that it changed."""
        listed = git(self.within.remote, "log", "--reverse", "--format=%H %ct", "main")
        found: list[tuple[int, str]] = []
        for line in listed.splitlines():
            commit, moment = line.split()
            told = git(self.within.remote, "ls-tree", "--name-only", commit, REPORT)
            body = git(self.within.remote, "show", f"{commit}:{REPORT}") if told else ""
            reason = next((one for one in REASONS if one in body), "")
            if reason and (not found or found[-1][1] != reason):
                found.append((int(moment) - int(NOW.timestamp()), reason))
        return found


REPORT = "feedback/member1/cluster.yaml"
REASONS = ("ClusterReady", "ClusterStatusUnknown", "ClusterNotReachable", "ClusterNotReady")


def begun(fleet: Fleet) -> Fleet:
    """A process that has just begun; one that observes nothing is a judge."""
    if not fleet.observation.observers:
        fleet.observation.judge = listening(HeartbeatTokens(lambda: TOKENS[:1]))
    return fleet


@pytest.mark.cpu_seconds(120)
@pytest.mark.parametrize("seed", range(3))
def test_whoever_is_killed_loses_nothing_and_flaps_nothing(
    certificate: Certificate, tmp_path: Path, seed: int
) -> None:
    """Observer and judge, before and after a push; a cluster is silent only if it was not heard."""
    draws = random.Random(seed)  # noqa: S311  # only draws what happens
    with ExitStack() as stack:
        member = stack.enter_context(running("member1", certificate))
        member.put(node("n1"), pod("a"))
        opening = partial(loop.opened, stack, tmp_path, {"member1": member}, certificate)
        within = opening(cluster("member1"), names=("member1",))
        campaign = Campaign(opening, member, draws, within, begun(opening(names=())))

        async def story() -> None:
            await campaign.go(180, alive=True, kills=False)
            for _ in range(4):
                away = draws.choice((10, 20, 30, 300))
                campaign.outages += away > 40
                await campaign.go(away, alive=False, kills=True)
                if away > 40:  # long enough for a judge that was just begun
                    await campaign.go(120, alive=False, kills=False)
                await campaign.go(draws.choice((200, 300)), alive=True, kills=True)
            await campaign.go(180, alive=True, kills=False)
            for one in campaign.within.observation.observers:
                await one.close()

        asyncio.run(story())
        verdicts = campaign.verdicts()

    assert "ClusterReady" == verdicts[-1][1]
    assert {"ClusterReady", "ClusterStatusUnknown"} >= {reason for _, reason in verdicts}
    silent = [second for second, reason in verdicts if reason == "ClusterStatusUnknown"]
    for second in silent:
        assert not [one for one in campaign.heard if second - 40 < one <= second]
    assert campaign.outages == len(silent)


@pytest.mark.cpu_seconds(120)
def test_a_real_observer_that_is_killed_is_reported_by_a_real_judge(
    certificate: Certificate, tmp_path: Path
) -> None:
    """Over HTTP, with a token; the judge counts it, and ends as it is told to."""
    body = member_cluster("a")
    remote = new_bare(tmp_path / "remote", {path_of(body): text(body)})
    tokens, token = tmp_path / "tokens", tmp_path / "token"
    tokens.write_text("a first-token-of-ours\n")
    token.write_text("first-token-of-ours\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    quick = ["--probe-seconds", "1", "--commit-seconds", "1", "--author", loop.AUTHOR]
    url = f"http://127.0.0.1:{port}"

    def started(stack: ExitStack, name: str, *options: str) -> "subprocess.Popen[str]":
        own = ["--remote", f"file://{remote}", "--mirror", str(tmp_path / f"{name}.git")]
        command = [sys.executable, "-m", "reconciler", "observe", *own, *quick, *options]
        process = subprocess.Popen(command, env=process_environment(), stderr=DEVNULL, text=True)
        stack.callback(process.wait)
        stack.callback(process.kill)
        return process

    def reported(reason: str) -> bool:
        path = "feedback/a/cluster.yaml"
        files = git(remote, "ls-tree", "-r", "--name-only", "main").splitlines()
        return path in files and reason in git(remote, "show", f"main:{path}")

    with ExitStack() as stack:
        member = stack.enter_context(running("a", certificate))
        member.put(node("n1"), pod("p"))
        config = kubeconfig(tmp_path, {"a": member}, certificate)
        listening = ["--judge", "--listen", str(port), "--heartbeat-tokens-file", str(tokens)]
        judge = started(stack, "judge", *listening)
        sends = ["--heartbeat", url, "--heartbeat-name", "a", "--heartbeat-token-file", str(token)]
        observing = ["--context", "a", "--kubeconfig", str(config), *sends]
        observer = started(stack, "observer", *observing)
        eventually(partial(reported, "reason: Healthy"), "a report")
        observer.kill()
        eventually(partial(reported, "HeartbeatStopped"), "that it is silent")
        counted = httpx.get(f"{url}/metrics").text
        assert 'reconciler_observed_clusters{state="silent"} 1.0' in counted
        started(stack, "another", *observing)
        eventually(partial(reported, "reason: Healthy"), "that it is back")
        judge.terminate()
        assert judge.wait(PATIENCE_SECONDS) in (0, 130, 143, -15)
