"""API servers of member clusters over TLS on the loopback: probes, pages, watches, and troubles.

Answers have the shapes of a real API server: a watch is told that its version is gone by an event,
a page by 410, and errors are a Status.
"""

import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from reconciler.model.body import Body
from tests.kube.journey import Handler, _status
from tests.kube.store import DEPLOYMENT, Place, Refused, Resource, Store
from tests.shell.servers import Certificate

NODE = Resource("", "v1", "Node", "nodes", namespaced=False)
POD = Resource("", "v1", "Pod", "pods")
RESOURCES = (NODE, POD, DEPLOYMENT)


@dataclass
class Member:
    """A member cluster that runs; a test sets what it does while it runs.

    Attributes:
        store: Its objects.
        dead: Whether it hangs up at once.
        ready: What its health endpoint answers.
        answers: Path to answers that are given once each instead: code and headers.
        refused: Paths that are forbidden.
        token: What a request has to bring, `""` for nothing.
        page: How many objects a page has at most.
        oldest: The oldest version that can still be watched from.
        watched: The paths that are watched now, and from which version.
        lie: What it answers to everything but probes, with success; `None` for the truth.
        lists: Whether it lists instead of watching, as an etcd without progress has it.
    """

    store: Store
    port: int = 0
    dead: bool = False
    ready: int = 200
    answers: dict[str, list[tuple[int, Mapping[str, str]]]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    token: str = ""
    page: int = 1000
    oldest: int = 0
    lists: bool = False
    lie: bytes | None = None
    asked: list[str] = field(default_factory=list)
    moved: threading.Condition = field(default_factory=threading.Condition)
    _known: dict[str, Body] = field(default_factory=dict)
    _events: list[tuple[int, str, Body]] = field(default_factory=list)
    _epoch: int = 0

    @property
    def url(self) -> str:
        """Where it is."""
        return f"https://127.0.0.1:{self.port}"

    def put(self, *bodies: Body) -> None:
        """Write objects, and tell who watches."""
        with self.moved:
            for body in bodies:
                self.store.write(body, "kubelet")
            self._note()

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object, and tell who watches."""
        with self.moved:
            self.store.delete(Place(self.store.resource(kind), namespace, name))
            self._note()

    def forget(self) -> None:
        """Forget all versions before the present one, and end every watch."""
        with self.moved:
            self.oldest = self.version + 1
            self._epoch += 1
            self.moved.notify_all()

    def drop_watches(self) -> None:
        """End every watch."""
        with self.moved:
            self._epoch += 1
            self.moved.notify_all()

    @property
    def version(self) -> int:
        """The version of the newest event."""
        return max((version for version, *_ in self._events), default=0)

    def events(self, resource: Resource, since: int) -> Iterator[Body | None]:
        """Yield events of a resource, `None` where there is none now, until the watch ends."""
        epoch, seen = self._epoch, since
        while True:
            with self.moved:
                if self._epoch != epoch:
                    return
                fresh = [
                    (version, {"type": kind, "object": body})
                    for version, kind, body in self._events
                    if version > seen and body["kind"] == resource.kind
                ]
                if not fresh:
                    self.moved.wait(0.5)
            for version, event in fresh:
                seen = version
                yield event
            if not fresh:
                yield None

    def _note(self) -> None:
        now: dict[str, Body] = {
            str(body["metadata"]["uid"]): body  # type: ignore[index]
            for resource in self.store.resources
            for body in self.store.listed(resource)
        }
        newest = max(self.version, *(_version(one) for one in now.values()), 0)
        for uid, body in now.items():
            if self._known.get(uid) != body:
                kind = "MODIFIED" if uid in self._known else "ADDED"
                self._events.append((_version(body), kind, body))
        for uid in self._known.keys() - now.keys():
            newest += 1
            next(self.store._numbers)  # a deletion has a version of its own
            gone = dict(self._known[uid])
            metadata = {**gone["metadata"], "resourceVersion": str(newest)}  # type: ignore[dict-item]
            self._events.append((newest, "DELETED", {**gone, "metadata": metadata}))
        self._known = now
        self.moved.notify_all()


def _version(body: Body) -> int:
    metadata = body["metadata"]
    assert isinstance(metadata, Mapping)
    return int(str(metadata["resourceVersion"]))


class MemberHandler(Handler):
    """Answers one connection to a member."""

    member: Member

    def do_GET(self) -> None:  # noqa: N802  # as http.server calls it
        """A probe, a list, a watch, or what any API server answers."""
        member, path = self.member, urlsplit(self.path).path
        member.asked.append(self.path)
        if member.dead:
            self.close_connection = True
            return
        if member.token and self.headers.get("Authorization") != f"Bearer {member.token}":
            self._say(401, _status(Refused(401, "Unauthorized", "Unauthorized")))
        elif member.answers.get(path):
            code, headers = member.answers[path].pop(0)
            self._say(code, _status(Refused(code, "InternalError", "no")), headers)
        elif path in member.refused:
            self._say(403, _status(Refused(403, "Forbidden", "it is forbidden")))
        elif path in ("/readyz", "/healthz"):
            self._say(member.ready, {})
        elif member.lie is not None:
            self._send(200, member.lie)
        elif self._query().get("watch"):
            self._watch()
        elif "limit" in self._query():
            try:
                self._page()
            except Refused as refused:
                self._say(refused.code, _status(refused))
        else:
            super().do_GET()

    def _page(self) -> None:
        member, query = self.member, self._query()
        resource, namespace, _, _ = self._target()
        with member.moved:
            items = member.store.listed(resource, namespace)
            version = member.version
        start = int(query.get("continue", "0"))
        end = start + min(member.page, int(query["limit"]))
        metadata: dict[str, object] = {"resourceVersion": str(version)}
        if end < len(items):
            metadata["continue"] = str(end)
        bare = [{k: v for k, v in one.items() if k not in ("kind", "apiVersion")} for one in items]
        kind = f"{resource.kind}List"
        listed = {"apiVersion": resource.api_version, "kind": kind, "metadata": metadata}
        self._say(200, {**listed, "items": bare[start:end]})

    def _watch(self) -> None:
        member = self.member
        resource, _, _, _ = self._target()
        since = int(self._query()["resourceVersion"])
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            if since < member.oldest or member.lists:
                code = 500 if member.lists else 410
                self._chunk({"type": "ERROR", "object": _status(Refused(code, "Expired", "no"))})
            else:
                for event in member.events(resource, since):
                    mark = {"kind": resource.kind, "metadata": {"resourceVersion": str(since)}}
                    self._chunk(event or {"type": "BOOKMARK", "object": mark})
                    since = max(since, _version((event or {"object": mark})["object"]))  # type: ignore[arg-type]
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True  # who watched has hung up

    def _chunk(self, body: Body) -> None:
        data = json.dumps(body).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _say(self, code: int, body: Body, headers: Mapping[str, str] | None = None) -> None:
        self._send(code, json.dumps(body).encode(), headers)

    def _send(self, code: int, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients hang up, and so does the server."""


@contextmanager
def running(name: str, certificate: Certificate) -> Iterator[Member]:
    """Run a member on a free port."""
    member = Member(Store(name, RESOURCES))
    handler = type("Handler", (MemberHandler,), {"member": member, "store": member.store})
    server = _Server(("127.0.0.1", 0), handler)
    member.port = server.server_port
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield member
    finally:
        member.drop_watches()
        server.shutdown()
        server.server_close()
        thread.join()


def kubeconfig(folder: Path, members: Mapping[str, Member], certificate: Certificate) -> Path:
    """Write a kubeconfig with a context for each member."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": one.url, "certificate-authority": str(certificate.file)},
            }
            for name, one in members.items()
        ],
        "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in members],
        "users": [{"name": n, "user": {"token": one.token}} for n, one in members.items()],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def node(name: str, *, cpu: str = "4", pods: str = "10") -> Body:
    """A node that takes pods."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": pods}},
    }


def pod(name: str, *, cpu: str = "1", on: str = "n1", phase: str = "Running") -> Body:
    """A pod with one container; scheduled unless `on` is empty."""
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**spec, **({"nodeName": on} if on else {})},
        "status": {"phase": phase},
    }
