"""An API server on the loopback that a real kubectl talks to: discovery, and verbs on objects."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from reconciler.manifests.json_patch import apply_patch
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from tests.kube.store import Place, Refused, Resource, Store

APPLY = "application/apply-patch+yaml"
JSON = "application/json-patch+json"
MERGES = ("application/merge-patch+json", "application/strategic-merge-patch+json")


@contextmanager
def served(store: Store) -> Iterator[str]:
    """Serve a store on a free port of the loopback; yield its address."""
    handler = type("Handler", (Handler,), {"store": store})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def contexts(folder: Path, stores: Mapping[str, Store]) -> Iterator[Path]:
    """Serve stores, each as a context of kubectl; yield the kubeconfig."""
    with ExitStack() as stack:
        found = {name: stack.enter_context(served(store)) for name, store in stores.items()}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": n, "cluster": {"server": url}} for n, url in found.items()],
            "contexts": [{"name": n, "context": {"cluster": n, "user": "ada"}} for n in found],
            "users": [{"name": "ada", "user": {}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config), encoding="utf-8")
        yield path


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    store: Store
    protocol_version = "HTTP/1.1"

    def log_message(self, *_words: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Discovery, one object, or a list."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Create."""
        self._answer(lambda: self.store.write(self._body(), self._manager()))

    def do_PUT(self) -> None:
        """Replace."""
        self._answer(lambda: self.store.write(self._body(), self._manager()))

    def do_PATCH(self) -> None:
        """Apply, or merge; of a scale its replicas."""
        self._answer(self._patch)

    def do_DELETE(self) -> None:
        """Delete, with what it owns unless it is orphaned."""
        self._answer(self._delete)

    def _answer(self, verb: "object") -> None:
        assert callable(verb)
        try:
            with self.store.lock:
                code, body = 200, verb()
                if self.command != "GET":
                    self.store.watched()
        except Refused as refused:
            code, body = refused.code, _status(refused)
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _get(self) -> Body:
        found = _discovery(self.store, urlsplit(self.path).path)
        if found is not None:
            return found
        resource, namespace, name, sub = self._target()
        if name and sub == "scale":
            return _scale(self.store.get(Place(resource, namespace, name)))
        if name:
            return self.store.get(Place(resource, namespace, name))
        items = [one for one in self.store.listed(resource, namespace) if self._selects(one)]
        return {
            "apiVersion": resource.api_version,
            "kind": f"{resource.kind}List",
            "metadata": {"resourceVersion": "1"},
            "items": items,
        }

    def _patch(self) -> Body:
        resource, namespace, name, sub = self._target()
        place, kind = Place(resource, namespace, name), self.headers["Content-Type"]
        if kind == APPLY:
            force = self._query().get("force") == "true"
            return self.store.apply(self._body(), self._manager(), force=force)
        if kind == JSON:
            patched = apply_patch(self.store.get(place), json.loads(self._data()))
            assert isinstance(patched, dict)
            return self.store.write(patched, self._manager())
        assert kind in MERGES, kind
        found = self.store.merge(place, self._body(), self._manager())
        return _scale(found) if sub == "scale" else found

    def _delete(self) -> Body:
        resource, namespace, name, _ = self._target()
        options = self._body()
        propagation = str(options.get("propagationPolicy", "Background"))
        self.store.delete(Place(resource, namespace, name), propagation)
        return {"apiVersion": "v1", "kind": "Status", "status": "Success"}

    def _data(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _body(self) -> Body:
        data = self._data()
        if data[:1] in (b"{", b""):
            found = json.loads(data or b"{}")
            assert isinstance(found, dict)
            return found
        return read(data, "request").documents[0].body

    def _query(self) -> dict[str, str]:
        return {name: one[0] for name, one in parse_qs(urlsplit(self.path).query).items()}

    def _manager(self) -> str:
        agent = self.headers.get("User-Agent", "unknown").partition("/")[0]
        return self._query().get("fieldManager", agent)

    def _selects(self, body: Body) -> bool:
        """Return whether an equality selector of labels takes an object."""
        metadata = body["metadata"]
        assert isinstance(metadata, Mapping)
        words = self._query().get("labelSelector", "")
        labels = metadata.get("labels", {})
        return all(
            labels.get(word.partition("=")[0]) == word.partition("=")[2]
            for word in words.split(",")
            if word
        )

    def _target(self) -> tuple[Resource, str, str, str]:
        """Return resource, namespace, name and subresource of a path."""
        parts = urlsplit(self.path).path.strip("/").split("/")
        group = "" if parts[0] == "api" else parts[1]
        version, *rest = parts[1:] if parts[0] == "api" else parts[2:]
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces":
            namespace, rest = rest[1], rest[2:]
        plural, name, sub = (*rest, "", "")[:3]
        for resource in self.store.resources:
            if (resource.group, resource.version, resource.plural) == (group, version, plural):
                return resource, namespace, name, sub
        raise Refused(404, "NotFound", "the server could not find the requested resource")


def _status(refused: Refused) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "code": refused.code,
        "reason": refused.reason,
        "message": refused.message,
    }


def _scale(body: Body) -> Body:
    """Return the scale of a Deployment."""
    metadata, spec = body["metadata"], body["spec"]
    assert isinstance(metadata, Mapping)
    assert isinstance(spec, Mapping)
    named = {k: metadata[k] for k in ("name", "namespace", "uid", "resourceVersion")}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": named,
        "spec": {"replicas": spec.get("replicas", 1)},
        "status": {"replicas": spec.get("replicas", 1)},
    }


def _discovery(store: Store, path: str) -> Body | None:
    """Return what a server says of what it serves, `None` for all other paths."""
    groups = sorted({r.group for r in store.resources if r.group})
    match path.strip("/").split("/"):
        case ["version"]:
            return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"]}
        case ["apis"]:
            listed = [_group(store, group) for group in groups]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
        case ["api", version]:
            return _resources(store, version)
        case ["apis", group, version]:
            return _resources(store, f"{group}/{version}")
    return None


def _group(store: Store, group: str) -> Body:
    found = sorted({r.version for r in store.resources if r.group == group})
    versions = [{"groupVersion": f"{group}/{one}", "version": one} for one in found]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resources(store: Store, api_version: str) -> Body:
    verbs = ["create", "delete", "get", "list", "patch", "update"]
    listed: list[Body] = []
    for one in store.resources:
        if one.api_version != api_version:
            continue
        common = {"name": one.plural, "namespaced": one.namespaced, "singularName": ""}
        listed.append({**common, "kind": one.kind, "verbs": verbs})
        if one.kind == "Deployment":
            scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
            name = f"{one.plural}/scale"
            listed.append({**common, **scale, "name": name, "verbs": ["get", "patch", "update"]})
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": listed,
    }
