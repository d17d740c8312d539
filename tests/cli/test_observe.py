"""Observed clusters, from their API servers to reports, decisions and back."""

import asyncio
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.cli.observe import ProfileOptions, Reporter
from reconciler.errors import UsageError
from reconciler.imports.observed import Probe
from reconciler.model.records import replace
from reconciler.model.world import World
from reconciler.shell.observation.kube_api import KubeApi
from tests import stories
from tests.builders import (
    Body,
    cluster,
    configuration,
    deployment,
    live,
    path_of,
    policy,
    profile,
    text,
)
from tests.dialects.kubefleet.fleet import member as member_cluster
from tests.kube import loop
from tests.kube.loop import NAMES, Fleet, managed, observed
from tests.kube.members import Member, kubeconfig, node, pod, running
from tests.shell.fleet import PATIENCE_SECONDS, eventually, process_environment
from tests.shell.repositories import git, new_bare
from tests.shell.servers import Certificate, new_certificate

pytestmark = pytest.mark.cpu_seconds(60)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """That of every server."""
    return new_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def members(certificate: Certificate) -> Iterator[Mapping[str, Member]]:
    """Three members that run, each with a node."""
    with ExitStack() as stack:
        found = {name: stack.enter_context(running(name, certificate)) for name in NAMES}
        for one in found.values():
            one.put(node("n1"), pod("a"))
        yield found


Open = Callable[..., Fleet]


@pytest.fixture
def opened(
    members: Mapping[str, Member], certificate: Certificate, tmp_path: Path
) -> Iterator[Open]:
    """Opens the observation of a repository that declares some objects."""
    with ExitStack() as stack:
        yield partial(loop.opened, stack, tmp_path, members, certificate)


def test_the_loop_is_closed_and_proven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cluster is killed, its work comes up elsewhere, it returns and gets it back."""
    assert 0 == loop.play(tmp_path, lambda _: None)
    assert "decision commits verified" in capsys.readouterr().out


def test_a_cluster_reports_its_health_its_room_and_its_workloads(
    opened: Open, members: Mapping[str, Member]
) -> None:
    """What the pods of others ask for is taken; workloads are those of the repository."""
    fleet = opened(*map(cluster, NAMES), policy(), deployment())
    members["member1"].put(live(deployment(), replicas=2, readyReplicas=1), deployment("other"))

    async def story() -> None:
        await fleet.round(0)
        await fleet.round(60)

    observed(fleet, story)
    told = fleet.report("member1")
    assert "reason: ClusterReady" in told
    assert 'allocatable:\n      cpu: "4"' in told
    assert 'allocated:\n      cpu: "1"' in told
    assert "groupVersion: apps/v1" in told
    assert "readyReplicas: 1" in fleet.report("member1", "default/web-deployment")
    assert "" == fleet.report("member1", "default/other-deployment")


def test_a_cluster_is_reported_well_with_what_it_has(
    opened: Open, members: Mapping[str, Member]
) -> None:
    """Without its room it would be one that has none; one that is not well is reported at once."""
    fleet = opened(*map(cluster, NAMES))
    members["member1"].refused.add("/api/v1/nodes")
    members["member2"].dead = True

    async def story() -> None:
        for _ in range(20):
            fleet.clock.moment += timedelta(seconds=10)
            await fleet.observation.round()
        members["member1"].refused.clear()

    observed(fleet, story)
    assert "" == fleet.report("member1")
    assert "ClusterNotReachable" in fleet.report("member2")
    assert "ClusterReady" in fleet.report("member3")
    assert [line for line in fleet.said if "member1: /api/v1/nodes: it answers 403" in line]


def test_what_is_gone_is_not_reported_any_more(opened: Open, members: Mapping[str, Member]) -> None:
    """Placed there again it would count as running. Of a cluster that is dead reports stay."""
    fleet = opened(*map(cluster, NAMES), deployment())
    for name in ("member1", "member2"):
        members[name].put(live(deployment(), replicas=2))

    async def story() -> None:
        await fleet.rounds(120)
        assert "replicas: 2" in fleet.report("member1", "default/web-deployment")
        members["member2"].dead = True
        for name in ("member1", "member2"):
            members[name].delete("Deployment", "web", "default")
        await fleet.rounds(120)

    observed(fleet, story)
    assert "" == fleet.report("member1", "default/web-deployment")
    assert "replicas: 2" in fleet.report("member2", "default/web-deployment")


def test_nodes_that_cannot_be_read_stop_one_cluster(
    opened: Open, members: Mapping[str, Member]
) -> None:
    """It is told, and the others report."""
    fleet = opened(*map(cluster, NAMES))
    members["member1"].put({**node("n1"), "status": {"allocatable": ["all of it"]}})

    async def story() -> None:
        await fleet.rounds(200)

    observed(fleet, story)
    assert "" == fleet.report("member1")
    assert "ClusterReady" in fleet.report("member2")
    assert [line for line in fleet.said if "member1: what it says of its nodes" in line]


def test_what_a_cluster_has_left_is_a_score(opened: Open, members: Mapping[str, Member]) -> None:
    """As the add-on counts it, of 100 processors and a tebibyte; little changes do not count."""
    fleet = opened(*map(managed, NAMES))
    (observer, *_) = fleet.observation.observers
    observer.score_points = 10
    members["member1"].put(node("n1", cpu="61"))

    async def story() -> None:
        await fleet.rounds(120)
        first = fleet.content(SCORE)
        assert "name: cpuAvailable\n    value: 20\n" in first
        assert "name: memAvailable\n    value: -98" in first
        told = fleet.commits()
        members["member1"].put(pod("b"))
        await fleet.rounds(120)
        assert (first, told) == (fleet.content(SCORE), fleet.commits())
        members["member1"].put(*(pod(f"c{number}") for number in range(9)))
        await fleet.rounds(120)
        assert "name: cpuAvailable\n    value: 0\n" in fleet.content(SCORE)

    observed(fleet, story)
    assert not [path for path in fleet.files() if "member2/scores" in path]


SCORE = "feedback/member1/scores/resource-usage-score.yaml"


def test_a_quiet_fleet_makes_no_commit(opened: Open, members: Mapping[str, Member]) -> None:
    """Nor does what no decision could see: pods that end, amounts within the tolerance."""
    fleet = opened(*map(cluster, NAMES))

    async def story() -> None:
        await fleet.rounds(120)
        before = fleet.commits()
        members["member1"].put(pod("done", phase="Succeeded"), node("n1", cpu="4100m"))
        await fleet.rounds(600)
        assert before == fleet.commits()
        await put_seen(fleet, members, cpu="8")
        await fleet.rounds(120)
        assert before + 1 == fleet.commits()

    observed(fleet, story)


def test_a_quiet_fleet_asks_the_remote_as_often_as_it_may_commit(
    opened: Open, members: Mapping[str, Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with each probe; what changes after a quiet time is reported at once."""
    fleet = opened(*map(cluster, NAMES))
    looks: list[None] = []
    read = Reporter.read

    def counted(self: Reporter) -> World:
        looks.append(None)
        return read(self)

    async def story() -> None:
        await fleet.rounds(240)
        monkeypatch.setattr(Reporter, "read", counted)
        await fleet.rounds(600)
        assert 10 == len(looks)
        told = fleet.commits()
        await put_seen(fleet, members, cpu="8")
        await fleet.round(10)
        assert told + 1 == fleet.commits()

    observed(fleet, story)


@pytest.mark.parametrize(
    ("body", "threshold", "expected"),
    [
        pytest.param(cluster("member1"), 30, "reason: ClusterNotReachable", id="karmada"),
        pytest.param(managed("member1"), 300, "ManagedClusterLeaseUpdateStopped", id="ocm"),
        pytest.param(member_cluster("member1"), 0, "reason: Unreachable", id="kubefleet"),
    ],
)
def test_a_dead_cluster_is_reported_after_the_threshold_of_its_api(
    opened: Open, members: Mapping[str, Member], body: Body, threshold: int, expected: str
) -> None:
    """Not before, and not where it answers again in between; its room stays as it was."""
    fleet = opened(body, names=("member1",))
    member = members["member1"]

    async def story() -> None:
        await fleet.rounds(120)
        room = fleet.report("member1")
        for _ in range(3 if threshold else 0):
            member.dead = True
            await fleet.rounds(threshold - 10)
            member.dead = False
            await fleet.rounds(70)
        assert expected not in fleet.report("member1")
        member.dead = True
        await fleet.rounds(threshold + 70)
        assert expected in fleet.report("member1")
        kept = {line for line in room.splitlines() if "cpu" in line}
        assert kept <= {*fleet.report("member1").splitlines()}
        member.dead = False
        await fleet.rounds(130)
        assert expected not in fleet.report("member1")

    observed(fleet, story)


def test_who_is_refused_knows_nothing_and_says_so(
    opened: Open, members: Mapping[str, Member]
) -> None:
    """A token that expired is no death."""
    fleet = opened(*map(cluster, NAMES), names=("member1",))

    async def story() -> None:
        await fleet.rounds(120)
        before = fleet.report("member1")
        members["member1"].token = "another"  # noqa: S105  # of a server of this test
        await fleet.rounds(600)
        assert before == fleet.report("member1")

    observed(fleet, story)
    assert b'observed_clusters{state="refused"} 1.0' in fleet.observation.metrics.text()
    assert [line for line in fleet.said if "refuses us" in line]
    assert len(fleet.said) == len(set(fleet.said))


def test_reports_go_to_their_branch(opened: Open) -> None:
    """Which the first of them makes; the branch of people stays as it is."""
    fleet = opened(*map(cluster, NAMES), configuration(feedback={"branch": "reports"}))

    async def story() -> None:
        await fleet.rounds(130)

    observed(fleet, story)
    assert 1 == fleet.commits()
    assert "ClusterReady" in fleet.report("member2", branch="reports")


def test_a_branch_of_reports_that_is_deleted_is_written_anew(
    opened: Open, members: Mapping[str, Member]
) -> None:
    """With all that is known, a dead cluster as a dead one; nobody is well by that."""
    fleet = opened(*map(cluster, NAMES), configuration(feedback={"branch": "reports"}))

    async def story() -> None:
        members["member2"].dead = True
        await fleet.rounds(240)
        before = [fleet.report(name, branch="reports") for name in NAMES]
        git(fleet.remote, "update-ref", "-d", "refs/heads/reports")
        await fleet.rounds(120)
        assert 1 == fleet.commits("reports")
        assert before == [fleet.report(name, branch="reports") for name in NAMES]
        assert "ClusterNotReachable" in before[1]

    observed(fleet, story)


async def put_seen(fleet: Fleet, members: Mapping[str, Member], cpu: str) -> None:
    """Change the node of a member, and go on once its observer has seen that."""
    observer = fleet.observation.observers[NAMES.index("member1")]
    before = observer.token
    members["member1"].put(node("n1", cpu=cpu))
    while observer.token == before:  # noqa: ASYNC110  # what it follows tells nobody else
        await asyncio.sleep(0)


def test_a_long_branch_of_reports_begins_anew(opened: Open, members: Mapping[str, Member]) -> None:
    """With all that is reported, where what decisions read is kept, and not otherwise."""
    kept = {"branch": "reports", "keepUsed": True}
    fleet = opened(*map(cluster, NAMES), configuration(feedback=kept))
    reporter = fleet.observation.reporter

    async def reports(*cpus: str) -> None:
        for cpu in cpus:
            await put_seen(fleet, members, cpu=cpu)
            await fleet.rounds(120)

    async def story() -> None:
        await fleet.rounds(120)  # the first report may lack a cluster that is still listed
        most = fleet.commits("reports") + 2
        reporter.target = replace(reporter.target, most_commits=most)
        await reports("8", "16")
        assert most == fleet.commits("reports")
        await reports("32")
        assert 1 == fleet.commits("reports")
        assert 'cpu: "32"' in fleet.report("member1", branch="reports")
        assert "ClusterReady" in fleet.report("member2", branch="reports")
        reporter.target = replace(reporter.target, most_commits=0)
        await reports("1", "8", "16", "32")
        assert 5 == fleet.commits("reports")

    observed(fleet, story)
    assert [line for line in fleet.said if "reports begins anew with" in line]


def test_a_branch_that_nothing_keeps_is_not_cut(
    members: Mapping[str, Member],
    certificate: Certificate,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Decisions could not be proven any more."""
    body = cluster("a")
    remote = new_bare(tmp_path / "remote", {path_of(body): text(body)})
    config = kubeconfig(tmp_path, {"a": members["member1"]}, certificate)
    options = ["--context", "a", "--kubeconfig", str(config), "--remote", f"file://{remote}"]

    own = ["--mirror", str(tmp_path / "own.git")]
    assert 2 == run(["observe", *options, *own, "--most-commits", "9"])
    assert "must have feedback.branch and feedback.keepUsed" in capsys.readouterr().err


def test_another_process_goes_on_where_one_ended(
    opened: Open, members: Mapping[str, Member]
) -> None:
    """It waits for the threshold, too, and writes nothing where nothing changed."""
    first = opened(*map(cluster, NAMES))

    async def begin() -> None:
        await first.rounds(120)

    observed(first, begin)
    before = first.commits()
    second = opened()
    second.clock.moment = first.clock.moment
    members["member2"].dead = True

    async def go_on() -> None:
        await second.rounds(20)
        assert before == second.commits()
        await second.rounds(120)

    observed(second, go_on)
    assert before + 1 == second.commits()
    assert "ClusterNotReachable" in second.report("member2")


def test_who_is_answered_is_right(
    opened: Open, certificate: Certificate, members: Mapping[str, Member], tmp_path: Path
) -> None:
    """A network of one observer that dies kills no cluster that another one reaches."""
    inside = opened(cluster("member1"), names=("member1",))
    with running("member1", certificate) as apart, ExitStack() as stack:
        apart.put(node("n1"), pod("a"))
        elsewhere = {"member1": apart}
        outside = loop.opened(stack, tmp_path, elsewhere, certificate, names=("member1",))

        async def story() -> None:
            async def both(seconds: int) -> None:
                for _ in range(seconds // 10):
                    await outside.round(10)
                    await inside.round(10)

            await both(130)
            apart.dead = True
            await both(240)
            assert "ClusterReady" in inside.report("member1")
            settled = inside.commits()
            await both(900)
            assert settled == inside.commits()
            apart.dead = False
            await both(130)
            apart.dead = members["member1"].dead = True
            await both(130)
            assert "ClusterNotReachable" in inside.report("member1")
            for one in outside.observation.observers:
                await one.close()

        observed(inside, story)
    assert [line for line in outside.said if "another observer" in line]


def test_what_others_pushed_meanwhile_stays(opened: Open, tmp_path: Path) -> None:
    """A race that is lost is planned anew from what is seen by then."""
    fleet = opened(*map(cluster, NAMES))
    reporter, mirror = fleet.observation.reporter, fleet.observation.reporter.mirror
    push = mirror.push
    raced: list[str] = []

    def overtaken(branch: str, *, old: str | None, new: str) -> None:
        if not raced:
            raced.append(branch)
            git(tmp_path, "clone", "-q", str(fleet.remote), "person")
            person = tmp_path / "person"
            (person / "note.txt").write_text("mine")
            git(person, "add", ".")
            git(person, "commit", "-q", "-m", "Mine")
            git(person, "push", "-q", "origin", "main")
        push(branch, old=old, new=new)

    mirror.push = overtaken  # type: ignore[method-assign]

    async def story() -> None:
        await fleet.rounds(70)

    observed(fleet, story)
    assert ["main"] == raced
    assert "mine" == git(fleet.remote, "show", "main:note.txt")
    assert "ClusterReady" in fleet.report("member1")
    assert reporter is fleet.observation.reporter


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], "name clusters with --context", id="nothing"),
        pytest.param(["--context", "a", "--context", "a=b"], "names cluster a twice", id="twice"),
        pytest.param(["--context", "nobody"], 'no "nobody" among its contexts', id="unknown"),
        pytest.param(["--in-cluster", "a"], "there is none here", id="no-pod"),
        pytest.param(
            ["--context", "a", "--access-host", "a"], "require --access-provider", id="profiles"
        ),
        pytest.param(["--judge", "--heartbeat-name", "x"], "require --heartbeat", id="heartbeats"),
    ],
)
def test_what_cannot_be_observed_is_refused(
    members: Mapping[str, Member],
    certificate: Certificate,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    expected: str,
) -> None:
    """Before anything is asked."""
    named = {"a": members["member1"]}
    config = kubeconfig(tmp_path, named, certificate)
    options = ["--kubeconfig", str(config), "--remote", f"file://{tmp_path}/none"]

    assert 2 == run(["observe", *options, *arguments])
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_whoever_is_ended_leaves_nothing_behind(
    number: signal.Signals, certificate: Certificate, tmp_path: Path
) -> None:
    """A real process, ended while it observes; the next one goes on, and writes what is new."""
    remote = new_bare(tmp_path / "remote", {path_of(cluster("a")): text(cluster("a"))})
    with running("a", certificate) as member:
        member.put(node("n1"))
        config = kubeconfig(tmp_path, {"a": member}, certificate)
        options = ["--context", "a", "--kubeconfig", str(config), "--remote", f"file://{remote}"]
        quick = ["--probe-seconds", "1", "--commit-seconds", "1", "--author", loop.AUTHOR]

        def reported(cpu: str) -> bool:
            told = git(remote, "ls-tree", "-r", "--name-only", "main")
            path = "feedback/a/cluster.yaml"
            return path in told and f'cpu: "{cpu}"' in git(remote, "show", f"main:{path}")

        for cpu in ("4", "8"):
            member.put(node("n1", cpu=cpu))
            with subprocess.Popen(
                [sys.executable, "-m", "reconciler", "observe", *options, *quick],
                cwd=tmp_path,
                env={**process_environment(), "XDG_CACHE_HOME": str(tmp_path / "cache")},
                stderr=subprocess.PIPE,
                text=True,
            ) as process:
                eventually(partial(reported, cpu), "a report")
                process.send_signal(number)
                _, said = process.communicate(timeout=PATIENCE_SECONDS)
            assert "Traceback" not in said
            assert process.returncode in (0, 130, 143, -number)
    assert 3 == int(git(remote, "rev-list", "--count", "main"))


def test_an_observer_looks_after_its_mirror(certificate: Certificate, tmp_path: Path) -> None:
    """It fetches and pushes for as long as it lives, and no git of its own joins the packs."""
    remote = new_bare(tmp_path / "remote", {path_of(cluster("a")): text(cluster("a"))})
    graphs = tmp_path / "mirror/repository.git/objects/info/commit-graphs"
    with running("a", certificate) as member:
        config = kubeconfig(tmp_path, {"a": member}, certificate)
        options = ["--context", "a", "--kubeconfig", str(config), "--remote", f"file://{remote}"]
        quick = ["--probe-seconds", "1", "--mirror", str(tmp_path / "mirror")]
        with subprocess.Popen(
            [
                sys.executable,
                "-m",
                "reconciler",
                "observe",
                *options,
                *quick,
                "--author",
                loop.AUTHOR,
            ],
            cwd=tmp_path,
            env=process_environment(),
            stderr=subprocess.PIPE,
        ) as process:
            eventually(lambda: any(graphs.glob("*.graph")), "the upkeep of the mirror")
            process.terminate()
            process.communicate(timeout=PATIENCE_SECONDS)


def reachable(name: str, **server: object) -> Body:
    """A ClusterProfile of a cluster, with a way to its API server."""
    return profile(name, accessProviders=[{"name": "kubeconfig", "cluster": server}])


def test_a_cluster_is_reached_as_its_profile_says(
    certificate: Certificate, members: Mapping[str, Member], tmp_path: Path
) -> None:
    """With the token of its name; one that nobody declares is left out."""
    authority = b64encode(certificate.file.read_bytes()).decode()
    members["member1"].token = "secret-of-member1"  # noqa: S105  # of a server of this test
    (tmp_path / "member1").write_text("secret-of-member1\n")
    there = [
        reachable(
            name,
            server=f"https://127.0.0.1:{members['member1'].port}",
            **{"certificate-authority-data": authority},
        )
        for name in ("member1", "stranger")
    ]
    world = stories.story(cluster("member1"), *there).world()
    options = ProfileOptions(
        access_provider="kubeconfig", access_tokens=tmp_path, access_host=("127.0.0.1",)
    )

    found = options.accesses(world)

    assert ["member1"] == [*found]

    async def probed() -> Probe:
        api = KubeApi(found["member1"], timeout_seconds=5)
        try:
            return await api.probe()
        finally:
            await api.close()

    assert Probe.WELL is asyncio.run(probed())
    assert {} == replace(options, access_provider="another").accesses(world)


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        pytest.param({"server": "https://evil.example.org"}, "not at a host", id="another-host"),
        pytest.param({"server": "https://badexample.com"}, "not at a host", id="ends-alike"),
        pytest.param({"server": "http://a.example.com"}, "by https", id="no-tls"),
        pytest.param({"server": "https://[a.example.com"}, "by https", id="no-url"),
        pytest.param({"server": "https://a.example.com@b.org"}, "by https", id="a-user"),
        pytest.param({"server": "https://b.org\\@a.example.com"}, "by https", id="a-backslash"),
        pytest.param(
            {"server": "https://a.example.com", "insecure-skip-tls-verify": True},
            "insecure-skip-tls-verify",
            id="unchecked",
        ),
        pytest.param(
            {"server": "https://a.example.com", "certificate-authority": "/etc/shadow"},
            "certificate-authority",
            id="a-file-of-ours",
        ),
        pytest.param(
            {"server": "https://a.example.com", "proxy-url": "http://b.example.org"},
            "proxy-url",
            id="a-proxy",
        ),
    ],
)
def test_a_profile_sends_tokens_nowhere_else(tmp_path: Path, server: Body, expected: str) -> None:
    """Whoever may write profiles is not who may read tokens."""
    world = stories.story(cluster("member1"), reachable("member1", **server)).world()
    options = ProfileOptions(
        access_provider="kubeconfig", access_tokens=tmp_path, access_host=("example.com",)
    )

    with pytest.raises(UsageError, match=expected):
        options.accesses(world)
