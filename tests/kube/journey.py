"""The way of an operator from a hub to us and back: what the page says, run by a real kubectl."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest

from reconciler.cli.main import run
from reconciler.manifests.json_patch import apply_patch
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from tests.delivery.kubectl import kubectl
from tests.imports.imported import FOLDERS
from tests.kube.store import DEPLOYMENT, Place, Refused, Resource, Store
from tests.shell.fleet import PATIENCE_SECONDS, ROOT, run_pass
from tests.shell.repositories import Checkout, new_checkout

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
            if sub == "status":
                return self.store.apply_status(self._body(), self._manager(), force=force)
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


YEAR = 365 * 24 * 3600  # passes must come after the moment of the import
TYPES = ("--workloads", "deployments.apps")
DEFAULT = "-n default"
FORCED = ("--server-side", "--force-conflicts", "--validate=false")
TAKEN = ("apply", *FORCED, "--field-manager=kustomize-controller")
"""What Flux does with a folder."""


@dataclass
class Journey:
    """An operator with a repository, and a fleet that is still under its hub.

    Attributes:
        api: Of the hub, as the page calls it.
        folder: Where exports go.
        fleet: The repository.
        stores: Every API server by its context.
        members: The contexts of the member clusters.
        turn: Lets whatever controllers run do what they do.
        environment: In which kubectl finds the servers.
        capsys: What commands print.
    """

    api: str
    folder: Path
    fleet: Checkout
    stores: Mapping[str, Store]
    members: tuple[str, ...]
    turn: Callable[[], None]
    environment: Mapping[str, str]
    capsys: pytest.CaptureFixture[str]
    passes: int = 0
    uids: dict[str, str] = field(default_factory=dict)

    def do(self, step: str) -> None:
        """Do what the page says of a step, in each member if of one; let controllers run twice."""
        first, *rest = self.members
        for line in commands(self.api, step):
            for name in (first, *(rest if first in line else ())):
                self.shell(line.replace(first, name))
        self.turn()
        self.turn()

    def shell(self, line: str) -> str:
        """Run a line as a shell does."""
        finished = subprocess.run(
            ["bash", "-c", line],
            env=self.environment,
            cwd=self.fleet.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert 0 == finished.returncode, (line, finished.stdout, finished.stderr)
        return finished.stdout

    def reconciler(self, *arguments: str) -> tuple[int, str]:
        """Run one of our verbs; return its exit code and what it prints."""
        code = run(["-C", str(self.fleet.folder), *arguments])
        shown = self.capsys.readouterr()
        return code, f"{shown.out}{shown.err}"

    def shown(self, *names: str, whole: bool = True) -> list[str]:
        """Return exports of what some servers have, made by kubectl.

        Args:
            names: The contexts.
            whole: Whether Deployments of other namespaces than `default` are asked for.
        """
        paths = []
        for name in names:
            others = [one for one in self.stores[name].resources if one != DEPLOYMENT]
            asked = {"others": (others, "-A"), "all": ([DEPLOYMENT], "-A" if whole else DEFAULT)}
            for part, (resources, scope) in asked.items():
                kinds = ",".join(f"{one.plural}.{one.group}".rstrip(".") for one in resources)
                if kinds:
                    told = self.shell(f"kubectl --context {name} get {kinds} {scope} -o json")
                    paths.append(self.folder / f"{name}-{part}.json")
                    paths[-1].write_text(told, encoding="utf-8")
        return [str(path) for path in paths]

    def adopt(self, *names: str) -> None:
        """Import and adopt what some servers have, and commit what came."""
        sources = self.shown(*names, whole=False)
        code, told = self.reconciler("import", *sources, *TYPES, "--adopt")
        assert 0 == code, told
        self.fleet.git("add", "--all")
        self.fleet.git("commit", "--quiet", "--allow-empty", "--message=Adopt the hub")

    def checked(self, *names: str) -> tuple[int, str]:
        """Return the exit code of `--check`, and what it prints of what some servers have."""
        return self.reconciler("import", *self.shown(*names), *TYPES, "--check")

    def left(self, *names: str) -> dict[str, str]:
        """Return the steps that `--check` says are not done, with their state."""
        code, told = self.checked(*names)
        rows = re.findall(r"^(\w+) +(open|unseen|members)\b", told, re.MULTILINE)
        assert code == int(any(state != "members" for _, state in rows)), told
        return dict(rows)

    def decide(self) -> None:
        """Run a pass."""
        self.passes += 1
        run_pass(self.fleet.folder, YEAR + 60 * self.passes)

    def deliver_to(self, hub: str, folder: str) -> None:
        """Run a pass, and have Flux apply what it delivers to the agents of a hub."""
        self.decide()
        self.shell(f"kubectl --context {hub} {' '.join(TAKEN)} -R -f {folder}")

    def deliver(self) -> None:
        """Run a pass, and have Flux apply what it delivers to the members."""
        self.decide()
        for name in self.members:
            self.shell(f"kubectl --context {name} {' '.join(TAKEN)} -k delivery/{name}")

    def commit(self, files: Mapping[str, str]) -> None:
        """Commit files of a person."""
        self.fleet.commit(files, "Edit")

    def start_delivery(self, configuration: str = FOLDERS) -> None:
        """Configure it."""
        self.commit({"reconciler.yaml": configuration})

    def workloads(self) -> dict[str, Body]:
        """Return the Deployments that members run, by `context/name`."""
        return {
            f"{name}/{one['metadata']['name']}": one  # type: ignore[index]
            for name in self.members
            for one in self.stores[name].all("Deployment")
            if one["metadata"]["namespace"] == "default"  # type: ignore[index]
        }

    def note(self) -> None:
        """Remember what runs."""
        self.uids = self._uids()
        assert self.uids

    def assert_nothing_is_recreated(self) -> None:
        """The same objects run that ran at first, and none of them was away meanwhile."""
        gone = [
            line for name in self.members for line in self.stores[name].log if "deleted" in line
        ]

        assert [] == [line for line in gone if "Deployment" in line]
        assert self.uids == self._uids()

    def replicas(self) -> dict[str, object]:
        """Return the replicas of what members run."""
        return {name: one["spec"]["replicas"] for name, one in self.workloads().items()}  # type: ignore[index]

    def generations(self) -> dict[str, object]:
        """Return how often the specs of what members run have changed."""
        return {n: one["metadata"]["generation"] for n, one in self.workloads().items()}  # type: ignore[index]

    def images(self) -> dict[str, object]:
        """Return the images of what members run."""
        return {
            name: one["spec"]["template"]["spec"]["containers"][0]["image"]  # type: ignore[index]
            for name, one in self.workloads().items()
        }

    def managers(self, name: str) -> set[str]:
        """Return who has set fields of something that runs."""
        listed = self.workloads()[name]["metadata"]["managedFields"]  # type: ignore[index]
        return {one["manager"] for one in listed}

    def _uids(self) -> dict[str, str]:
        return {name: one["metadata"]["uid"] for name, one in self.workloads().items()}  # type: ignore[index]


def shadow_report() -> list[str]:
    """Return the lines that the page shows of a hub that moved something."""
    page = (ROOT / "docs/adopt.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"<!-- shadow -->\n```\n(.*?)```", page, re.DOTALL)
    return [line for line in str(found).splitlines() if line != "..."]


def commands(api: str, step: str) -> list[str]:
    """Return the commands that the page shows for a step of an API."""
    page = (ROOT / "docs/adopt.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"<!-- {api}: {step} -->\n```shell\n(.*?)```", page, re.DOTALL)
    return str(found).splitlines()


@contextmanager
def journey(
    api: str,
    folder: Path,
    stores: Mapping[str, Store],
    members: tuple[str, ...],
    turn: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Journey]:
    """Serve the API servers, and yield an operator with an empty repository."""
    with contexts(folder, stores) as config, pytest.MonkeyPatch.context() as patch:
        path = f"{kubectl().parent}:{os.environ['PATH']}"
        environment = {"KUBECONFIG": str(config), "HOME": str(folder), "PATH": path}
        for name, value in environment.items():
            patch.setenv(name, value)
        for store in stores.values():
            store.watched = turn
        fleet = new_checkout(folder / "fleet", {"README.md": "Ours.\n"})
        yield Journey(api, folder, fleet, stores, members, turn, environment, capsys)
