"""The only file that talks to API servers of Kubernetes: probes, discovery, lists and watches.

A cache holds the objects of one resource as its server has them. It lists them in pages and then
watches from there, with bookmarks, so that a connection that ends goes on where it was. Where the
server has forgotten that version (410), or says anything else that is no event, the cache lists
anew. Where it is overloaded (429), fails (5xx) or is gone, the cache waits, longer each time.

Source: kubernetes documentation, API concepts: efficient detection of changes; 410 Gone.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import httpx

from reconciler.errors import ShellError
from reconciler.imports.observed import NOT_FOUND, Probe, probe_of
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field
from reconciler.shell.observation.kube_access import KubeAccess
from reconciler.version import __version__

PAGE = 500  # client-go tools/pager defaultPageSize
WATCH_SECONDS = 300  # client-go reflectors ask for five to ten minutes
SHORTEST_WAIT, LONGEST_WAIT = 1.0, 60.0
GONE, UNAUTHORIZED = 410, 401
ENDPOINTS = ("/readyz", "/healthz")
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

Wait = Callable[[float], Awaitable[None]]
"""Waits for so many seconds."""


class ApiError(Exception):  # what a server says, with its status
    """An answer that is no success; without one at all the code is 0."""

    def __init__(self, code: int, message: str, *, wait_seconds: float = 0.0) -> None:
        """Keep what was said, and for how long the server wants us to wait, 0 for nothing."""
        super().__init__(message)
        self.code, self.wait_seconds = code, wait_seconds


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A resource that a server lists; `path` is where, over all namespaces."""

    kind: Kind
    path: str


@dataclass(frozen=True, slots=True)
class Discovered:
    """What a server serves: each version with its resources, and by kind where it is listed."""

    version: str
    apis: tuple[Body, ...]
    resources: Mapping[Kind, ServedResource]


class KubeApi:
    """One API server."""

    def __init__(self, access: KubeAccess, *, timeout_seconds: float) -> None:
        """Open nothing yet."""
        self._access = access
        verify: ssl.SSLContext | bool = access.tls or False
        self._client = httpx.AsyncClient(
            base_url=access.server,
            verify=verify,
            proxy=access.proxy or None,
            timeout=timeout_seconds,
            trust_env=False,
            headers={"User-Agent": f"reconciler/{__version__}"},
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def probe(self) -> Probe:
        """Ask whether the server is ready; one without `/readyz` is asked whether it is healthy.

        Source: karmada@f8fdd02 pkg/controllers/status/cluster_status_controller.go
        `getClusterHealthStatus`.
        """
        code = None
        for path in ENDPOINTS:
            try:
                code = (await self._client.send(self._request(path))).status_code
            except httpx.HTTPError:
                code = None
            except ApiError as error:
                code = error.code
            if code != NOT_FOUND:
                break
        return probe_of(code)

    async def discover(self) -> Discovered:
        """Return what the server serves.

        Raises:
            ApiError: It does not say.
        """
        version = str((await self._get("/version")).get("gitVersion") or "")
        listed: dict[str, list[Body]] = {}
        for root in ("/api", "/apis"):
            answer = await self._get(root, accept=AGGREGATED)
            if answer.get("kind") == "APIGroupDiscoveryList":
                listed |= _aggregated(answer)
                continue
            for group_version in _group_versions(answer):
                path = f"{root}/{group_version}"
                found = await self._get(path)
                listed[group_version] = mappings_of(found.get("resources"))
        resources: dict[Kind, ServedResource] = {}
        for group_version in sorted(listed, key=lambda one: (one.count("/"), one), reverse=True):
            group = group_version.rpartition("/")[0]
            root = f"/apis/{group_version}" if group else f"/api/{group_version}"
            for one in listed[group_version]:
                kind = (group, str(one.get("kind")))
                name = str(one.get("name"))
                if "list" in _texts(one.get("verbs")) and "/" not in name:
                    resources.setdefault(kind, ServedResource(kind, f"{root}/{name}"))
        return Discovered(version, tuple(_enabled(listed)), resources)

    async def pages(self, path: str) -> tuple[list[Body], str]:
        """Return all objects of a list, and the version from which to watch them.

        Raises:
            ApiError: There is no such list for us now; 410 if it changed too much between pages.
        """
        items: list[Body] = []
        token = ""
        while True:
            wanted = {"limit": str(PAGE), **({"continue": token} if token else {})}
            answer = await self._get(path, **wanted)
            version, kind = str(answer.get("apiVersion")), str(answer.get("kind"))
            own = {"apiVersion": version, "kind": kind.removesuffix("List")}
            items += ({**own, **one} for one in mappings_of(answer.get("items")))
            metadata = at(answer, "metadata")
            token = str(metadata.get("continue") or "")
            if not token:
                return items, str(metadata.get("resourceVersion") or "")

    async def events(self, path: str, version: str) -> AsyncIterator[Body]:
        """Yield what happens to the objects of a list from a version on, until the server ends it.

        Raises:
            ApiError: It does not tell.
        """
        wanted = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        request = self._request(path, **wanted)
        request.extensions["timeout"]["read"] = WATCH_SECONDS + LONGEST_WAIT
        try:
            answer = await self._client.send(request, stream=True)
            try:
                if answer.is_error:
                    await answer.aread()
                    raise _error_of(answer)
                async for line in answer.aiter_lines():
                    if line:
                        yield _object(json.loads(line))
            finally:
                await answer.aclose()
        except (httpx.HTTPError, ValueError) as error:
            raise ApiError(0, "the connection broke") from error

    async def _get(self, path: str, *, accept: str = "application/json", **wanted: str) -> Body:
        request = self._request(path, **wanted)
        request.headers["Accept"] = accept
        try:
            answer = await self._client.send(request)
            if answer.is_error:
                raise _error_of(answer)
            return _object(answer.json())
        except (httpx.HTTPError, ValueError) as error:
            raise ApiError(0, "it does not answer") from error

    def _request(self, path: str, **wanted: str) -> httpx.Request:
        request = self._client.build_request("GET", path, params=wanted or None)
        try:
            token = self._access.token()
        except ShellError as error:  # it is renewed just now, or was taken from us
            raise ApiError(UNAUTHORIZED, str(error)) from error
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        if self._access.server_name:
            request.extensions["sni_hostname"] = self._access.server_name
        return request


def _object(body: object) -> Body:
    """Return an answer that is an object.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(body, dict):
        raise ValueError("the answer is no object")  # noqa: TRY004  # of a server, not of a caller
    return body


def _error_of(answer: httpx.Response) -> ApiError:
    after = answer.headers.get("Retry-After", "")
    wait = float(after) if after.isascii() and after.isdecimal() else 0.0
    return ApiError(answer.status_code, f"it answers {answer.status_code}", wait_seconds=wait)


def _texts(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list) else ()


def _group_versions(answer: Body) -> list[str]:
    """Return what a server without aggregated discovery serves, of each group all versions."""
    if isinstance(answer.get("versions"), list):
        return [str(one) for one in _texts(answer.get("versions"))]
    return [
        str(version.get("groupVersion"))
        for group in mappings_of(answer.get("groups"))
        for version in mappings_of(group.get("versions"))
    ]


def _aggregated(answer: Body) -> dict[str, list[Body]]:
    """Return the resources of each version of each group, as they are listed one by one."""
    listed: dict[str, list[Body]] = {}
    for group in mappings_of(answer.get("items")):
        name = str(at(group, "metadata").get("name") or "")
        for version in mappings_of(group.get("versions")):
            key = f"{name}/{version.get('version')}" if name else str(version.get("version"))
            listed[key] = [
                {
                    "name": one.get("resource"),
                    "kind": at(one, "responseKind").get("kind"),
                    "verbs": one.get("verbs"),
                }
                for one in mappings_of(version.get("resources"))
            ]
    return listed


def _enabled(listed: Mapping[str, list[Body]]) -> list[Body]:
    """Return each version with its resources, without those that are parts of others.

    Source: karmada@f8fdd02 pkg/controllers/status/cluster_status_controller.go `getAPIEnablements`.
    """
    return [
        {
            "groupVersion": version,
            "resources": sorted(
                (
                    {"name": one.get("name"), "kind": one.get("kind")}
                    for one in listed[version]
                    if "/" not in str(one.get("name"))
                ),
                key=lambda one: str(one["name"]),
            ),
        }
        for version in sorted(listed)
    ]


def _whole(body: Body) -> Body:
    return body


@dataclass(slots=True, eq=False)
class ObjectCache:
    """The objects of one resource; `follow` keeps it as the server has them.

    Attributes:
        api: The server.
        path: Of the list.
        wait: How it waits.
        kept: Returns what is kept of an object.
        synced: Set while the objects are all there.
        problem: What the server refused last, `None` once it answers.
        changes: How often something changed.
        changed: Set when something changes; whoever waits for it clears it.
    """

    api: KubeApi
    path: str
    wait: Wait = asyncio.sleep
    kept: Callable[[Body], Body] = _whole
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    problem: ApiError | None = None
    changes: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _objects: dict[str, Body] = field(default_factory=dict)
    _version: str = ""
    _pause: float = SHORTEST_WAIT
    _listed_anew: bool = False

    @property
    def objects(self) -> list[Body]:
        """The objects, in order of their ids."""
        return [self._objects[uid] for uid in sorted(self._objects)]

    async def follow(self) -> None:
        """Go on until it is cancelled."""
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except ApiError as error:
                await self._recover(error)

    async def _list(self) -> None:
        items, self._version = await self.api.pages(self.path)
        fresh = {_uid(one): self.kept(one) for one in items}
        differs = fresh != self._objects
        self._objects, self.problem = fresh, None
        self.synced.set()
        if differs:
            self._note()

    async def _watch(self) -> None:
        """Take what happens; a watch that ends without a word is not begun again at once."""
        quiet = True
        async for event in self.api.events(self.path, self._version):
            kind, body = event.get("type"), at(event, "object")
            quiet = False
            if kind not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK"):
                code = body.get("code")
                raise ApiError(code if isinstance(code, int) else GONE, "the watch was ended")
            self._version = str(at(body, "metadata").get("resourceVersion") or self._version)
            self.problem, self._pause, self._listed_anew = None, SHORTEST_WAIT, False
            if kind == "BOOKMARK":
                continue
            uid = _uid(body)
            kept = None if kind == "DELETED" else self.kept(body)
            if self._objects.get(uid) == kept:
                continue
            if kept is None:
                del self._objects[uid]
            else:
                self._objects[uid] = kept
            self._note()
        if quiet:
            await self.wait(SHORTEST_WAIT)

    def _note(self) -> None:
        self.changes += 1
        self.changed.set()

    async def _recover(self, error: ApiError) -> None:
        """Forget the version that is gone, and wait before the next try."""
        if error.code == GONE or (error.code and self.problem is not None):
            self._version = ""
        if error.code == GONE and not self._listed_anew:
            self._listed_anew = True
            return  # at once: nothing is wrong but our version
        self.problem = error
        if error.code in (401, 403, NOT_FOUND):
            self.synced.clear()
        await self.wait(max(self._pause, error.wait_seconds))
        self._pause = min(2 * self._pause, LONGEST_WAIT)


def _uid(body: Body) -> str:
    return str(at(body, "metadata").get("uid"))
