"""Clusters as their API servers show them: followed through cuts and troubles, and reported."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from reconciler.errors import UsageError
from reconciler.imports.observed import Probe
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.shell.observation.kube_access import context_access, own_access
from reconciler.shell.observation.kube_api import ApiError, KubeApi, ObjectCache
from tests.kube.members import Member, kubeconfig, node, pod, running
from tests.shell.servers import Certificate, new_certificate

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
T = TypeVar("T")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """That of every server."""
    return new_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def member(certificate: Certificate) -> Iterator[Member]:
    """A member that runs."""
    with running("member1", certificate) as one:
        one.put(node("n1"), pod("a"), pod("b"))
        yield one


@pytest.fixture
def api(member: Member, certificate: Certificate, tmp_path: Path) -> KubeApi:
    """Its API, by its context."""
    access = context_access(str(kubeconfig(tmp_path, {"member1": member}, certificate)), "member1")
    return KubeApi(access, timeout_seconds=5)


def asked(api: KubeApi, question: Coroutine[object, object, T]) -> T:
    """The answer to one question, after which the connection is closed."""

    async def ask() -> T:
        try:
            return await question
        finally:
            await api.close()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("ready", "expected"),
    [
        pytest.param(200, Probe.WELL, id="ready"),
        pytest.param(500, Probe.FAILING, id="an-error"),
        pytest.param(202, Probe.UNHEALTHY, id="another-success"),
        pytest.param(401, Probe.REFUSED, id="nobody-knows-us"),
        pytest.param(403, Probe.REFUSED, id="forbidden"),
        pytest.param(0, Probe.UNREACHABLE, id="it-hangs-up"),
    ],
)
def test_a_probe_is_what_the_server_answers(
    member: Member, api: KubeApi, ready: int, expected: Probe
) -> None:
    """Over TLS, with the authority of the kubeconfig."""
    member.ready, member.dead = ready, ready == 0

    assert expected == asked(api, api.probe())


def test_a_server_without_readyz_is_asked_for_healthz(member: Member, api: KubeApi) -> None:
    """As upstream does."""
    member.answers["/readyz"] = [(404, {})]

    assert Probe.WELL == asked(api, api.probe())
    assert ["/readyz", "/healthz"] == member.asked


def test_a_stranger_is_not_talked_to(
    member: Member, certificate: Certificate, tmp_path: Path
) -> None:
    """Whoever has another certificate is not the server that the kubeconfig means."""
    other = tmp_path / "other"
    other.mkdir()
    stranger = new_certificate(other)
    access = context_access(str(kubeconfig(tmp_path, {"member1": member}, stranger)), "member1")

    api = KubeApi(access, timeout_seconds=5)

    assert Probe.UNREACHABLE == asked(api, api.probe())


def test_what_is_served_is_discovered(api: KubeApi) -> None:
    """Kinds with the place of their list; versions with their resources, without parts."""
    found = asked(api, api.discover())

    assert "v1.34.0" == found.version
    assert "/apis/apps/v1/deployments" == found.resources["apps", "Deployment"].path
    assert [
        {
            "groupVersion": "apps/v1",
            "resources": [{"name": "deployments", "kind": "Deployment"}],
        },
        {
            "groupVersion": "v1",
            "resources": [{"name": "nodes", "kind": "Node"}, {"name": "pods", "kind": "Pod"}],
        },
    ] == list(found.apis)


class Waits:
    """Waits that a test lets go by: it sees for how long, and that somebody waits."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self.asked: asyncio.Queue[float] = asyncio.Queue()

    async def __call__(self, seconds: float) -> None:
        """Wait, but for no time."""
        self.asked.put_nowait(seconds)
        await asyncio.sleep(0)


async def until(cache: ObjectCache, names: set[str]) -> None:
    """Wait until a cache holds these objects; the test's limit of time ends it otherwise."""
    while {at(one, "metadata").get("name") for one in cache.objects} != names:
        cache.changed.clear()
        await cache.changed.wait()


def followed(
    api: KubeApi, path: str, story: Callable[[ObjectCache, Waits], Awaitable[None]]
) -> None:
    """Follow a list while a story goes on."""

    async def run() -> None:
        waits = Waits()
        cache = ObjectCache(api, path, wait=waits)
        task = asyncio.create_task(cache.follow())
        try:
            await cache.synced.wait()
            await story(cache, waits)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await api.close()

    asyncio.run(run())


def test_a_list_is_read_in_pages_and_followed(member: Member, api: KubeApi) -> None:
    """What comes, changes and goes is there at once."""
    member.page = 1

    async def story(cache: ObjectCache, _: Waits) -> None:
        await until(cache, {"a", "b"})
        member.put(pod("c"), pod("a", phase="Succeeded"))
        member.delete("Pod", "b", "default")
        await until(cache, {"a", "c"})
        assert 2 <= cache.changes

    followed(api, PODS, story)
    assert 2 == sum("limit" in path for path in member.asked)


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(Member.drop_watches, id="the-watch-ends"),
        pytest.param(Member.forget, id="its-version-is-gone"),
    ],
)
def test_a_watch_that_ends_goes_on(
    member: Member, api: KubeApi, cut: Callable[[Member], None]
) -> None:
    """From where it was, or, where that is gone, by another list."""

    async def story(cache: ObjectCache, _: Waits) -> None:
        await until(cache, {"a", "b"})
        cut(member)
        member.delete("Pod", "a", "default")
        member.put(pod("c"))
        await until(cache, {"b", "c"})

    followed(api, PODS, story)


def test_a_server_that_cannot_be_watched_is_listed_less_and_less_often(
    member: Member, api: KubeApi
) -> None:
    """It tells so by an event; waits grow to a minute."""
    member.lists = True

    async def story(cache: ObjectCache, waits: Waits) -> None:
        found = [await waits.asked.get() for _ in range(9)]
        assert sorted(found) == found
        assert (1.0, 60.0) == (found[0], found[-1])
        member.put(pod("c"))
        await until(cache, {"a", "b", "c"})

    followed(api, PODS, story)


def test_an_overloaded_server_is_left_alone_for_as_long_as_it_asks(
    member: Member, api: KubeApi
) -> None:
    """429 says for how many seconds; 503 does not."""

    async def story(cache: ObjectCache, waits: Waits) -> None:
        member.answers[PODS] = [(429, {"Retry-After": "17"}), (503, {})]
        member.drop_watches()
        member.put(pod("c"))
        await until(cache, {"a", "b", "c"})
        waited = [await waits.asked.get() for _ in range(2)]
        assert 17.0 in waited

    followed(api, PODS, story)


def test_who_is_refused_has_no_objects(member: Member, api: KubeApi) -> None:
    """Nothing is known any more of what may not be listed; it is told."""

    async def story(cache: ObjectCache, waits: Waits) -> None:
        member.refused.add(PODS)
        member.drop_watches()
        while cache.synced.is_set():
            await waits.asked.get()
        assert cache.problem is not None
        assert 403 == cache.problem.code

    followed(api, PODS, story)


def test_a_list_that_is_not_there_says_so(api: KubeApi) -> None:
    """With the code of the server."""
    with pytest.raises(ApiError) as refused:
        asked(api, api.pages("/apis/example.org/v1/widgets"))

    assert 404 == refused.value.code


def test_a_token_is_read_anew_from_its_file(
    member: Member, certificate: Certificate, tmp_path: Path
) -> None:
    """As a service account has it, whose token expires."""
    (tmp_path / "ca.crt").write_bytes(certificate.file.read_bytes())
    (tmp_path / "token").write_text("old\n")
    member.token = "new"  # noqa: S105  # of a server of this test
    api = KubeApi(own_access("127.0.0.1", str(member.port), tmp_path), timeout_seconds=5)

    async def probes() -> list[Probe]:
        first = await api.probe()
        (tmp_path / "token").write_text("new\n")
        return [first, await api.probe()]

    assert [Probe.REFUSED, Probe.WELL] == asked(api, probes())


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param({"exec": {"command": "aws"}}, "logs in by a plugin", id="a-plugin"),
        pytest.param({"client-certificate-data": "%"}, "must be base64", id="no-base64"),
    ],
)
def test_a_login_that_is_not_known_is_refused(
    member: Member, certificate: Certificate, tmp_path: Path, user: Body, expected: str
) -> None:
    """Nothing of others is run."""
    path = kubeconfig(tmp_path, {"member1": member}, certificate)
    config = json.loads(path.read_text())
    config["users"] = [{"name": "member1", "user": user}]
    path.write_text(json.dumps(config))

    with pytest.raises(UsageError, match=expected):
        context_access(str(path), "member1")


def test_several_kubeconfigs_are_one(
    member: Member, certificate: Certificate, tmp_path: Path
) -> None:
    """As kubectl joins them: what is not there has nothing, and of one name the first counts."""
    folders = [tmp_path / name for name in ("none", "first", "second")]
    for folder, names in zip(folders[1:], (["other"], ["member1", "other"]), strict=True):
        folder.mkdir()
        kubeconfig(folder, dict.fromkeys(names, member), certificate)
    paths = ":".join(str(folder / "kubeconfig") for folder in folders)

    api = KubeApi(context_access(paths, "member1"), timeout_seconds=5)
    assert Probe.WELL == asked(api, api.probe())
    with pytest.raises(UsageError, match='no "nobody" among its contexts'):
        context_access(paths, "nobody")


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param(b"<html>", id="no-json"),
        pytest.param(b"[]", id="no-object"),
        pytest.param(b"\xff\xfe", id="no-text"),
        pytest.param(b'{"items": [1, {}], "groups": 3, "metadata": []}', id="nonsense"),
    ],
)
def test_a_server_that_lies_is_asked_again(member: Member, api: KubeApi, lie: bytes) -> None:
    """Whatever it says, the cache goes on, and has the truth once it is told."""

    async def story(cache: ObjectCache, waits: Waits) -> None:
        await until(cache, {"a", "b"})
        member.lie = lie
        member.forget()
        for _ in range(3):
            await waits.asked.get()
        member.lie = None
        member.put(pod("c"))
        await until(cache, {"a", "b", "c"})

    followed(api, PODS, story)


def test_a_token_that_cannot_be_read_is_a_refusal(
    member: Member, certificate: Certificate, tmp_path: Path
) -> None:
    """Of this cluster; it is read again at the next question."""
    (tmp_path / "ca.crt").write_bytes(certificate.file.read_bytes())
    api = KubeApi(own_access("127.0.0.1", str(member.port), tmp_path), timeout_seconds=5)

    assert Probe.REFUSED == asked(api, api.probe())
