"""deploy/kubernetes, deploy/import and the Dockerfile: built, linted and pinned."""

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click
import pytest
from ruamel.yaml import YAML

from reconciler.cli.settings import read_settings
from reconciler.cli.verbs.begin import import_command
from reconciler.cli.verbs.run import observe_command, publish_command, run_command
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping
from release.base_images import digest_at, pinned
from tests.delivery.kubectl import kubectl
from tests.shell.fleet import ROOT
from tests.shell.servers import served

FOLDER = ROOT / "deploy/kubernetes"
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")


def built(folder: Path = FOLDER) -> dict[str, Body]:
    """Return what kubectl builds of a folder, by kind."""
    return {str(one["kind"]): one for one in built_list(folder)}


def built_list(folder: Path) -> list[Body]:
    """Return what kubectl builds of a folder."""
    text = subprocess.run(
        [str(kubectl()), "kustomize", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return list(YAML(typ="safe").load_all(text))


def pod() -> Body:
    """Return the pod of the Deployment as it is written."""
    return at(YAML(typ="safe").load(FOLDER / "deployment.yaml"), "spec", "template", "spec")


def container() -> Body:
    """Return its container."""
    (only,) = bodies(pod(), "containers")
    return only


def test_kubectl_builds_it() -> None:
    """All in one namespace, with the image that an overlay replaces and the settings by name."""
    objects = built()

    assert {"ConfigMap", "Deployment", "NetworkPolicy", "Service"} == objects.keys()
    assert {"reconciler"} == {mapping(one, "metadata")["namespace"] for one in objects.values()}
    assert "reconciler-settings" == mapping(objects["ConfigMap"], "metadata")["name"]
    (only,) = bodies(at(objects["Deployment"], "spec", "template", "spec"), "containers")
    assert "example.com/reconciler:latest" == only["image"]


def test_the_overlay_of_the_page_builds(tmp_path: Path) -> None:
    """With the image and the settings that it names; the base is that of this repository."""
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    (overlay,) = re.findall(r"^```yaml\n(namespace: .*?)^```$", page, re.MULTILINE | re.DOTALL)
    (remote,) = re.findall(r"^resources: \[(.*)\]$", overlay, re.MULTILINE)
    shutil.copytree(FOLDER, tmp_path / "base")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/kustomization.yaml").write_text(overlay.replace(remote, "../base"))
    (tmp_path / "mine/settings.yaml").write_text("remote: https://git.example.org/mine.git\n")

    objects = built(tmp_path / "mine")

    (only,) = bodies(at(objects["Deployment"], "spec", "template", "spec"), "containers")
    assert remote.endswith("//deploy/kubernetes")
    assert "registry.example.com/reconciler:1.0" == only["image"]
    assert {"settings.yaml": "remote: https://git.example.org/mine.git\n"} == mapping(
        objects["ConfigMap"], "data"
    )


def test_the_settings_are_options_of_the_daemon() -> None:
    """The container names the file that the ConfigMap is mounted at."""
    context = click.Context(run_command, info_name="run")
    found = read_settings(context, FOLDER / "settings.yaml")

    assert {"remote", "branch", "mirror", "credential_file", "listen"} == found.keys()
    assert ["run", "--settings=/settings/settings.yaml"] == container()["args"]
    mounts = {str(one["mountPath"]) for one in bodies(container(), "volumeMounts")}
    assert {"/settings", str(Path(str(found["credential_file"])).parent)} <= mounts


def test_the_probes_are_paths_of_the_listener() -> None:
    """On the port that the settings name."""
    paths = [
        str(at(container(), probe, "httpGet")["path"])
        for probe in ("livenessProbe", "readinessProbe")
    ]
    with served() as listener:
        answers = [listener.get(path)[0] for path in paths]
    settings = read_settings(click.Context(run_command), FOLDER / "settings.yaml")
    (port,) = bodies(container(), "ports")

    assert [200, 503] == answers  # it lives, and no pass has ended
    assert str(settings["listen"]).endswith(f":{port['containerPort']}")


def test_the_pod_has_no_rights() -> None:
    """Nobody's user, a read-only root, no capability, no token."""
    rights = {**mapping(pod(), "securityContext"), **mapping(container(), "securityContext")}
    expected = {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }

    assert expected == {name: rights[name] for name in expected}
    assert pod()["automountServiceAccountToken"] is False


def test_pod_and_image_fit() -> None:
    """The same user, and a volume where the image keeps its state."""
    (user,) = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    (state,) = re.findall(r"^VOLUME (\S+)$", DOCKERFILE, re.MULTILINE)

    assert int(user) == mapping(pod(), "securityContext")["runAsUser"]
    assert state in {one["mountPath"] for one in bodies(container(), "volumeMounts")}
    assert {state} == {
        path.rpartition("/")[0] for path in re.findall(r"RECONCILER_\w+=(/\S+)", DOCKERFILE)
    }


def test_hadolint_takes_the_dockerfile() -> None:
    """Without a remark."""
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None:
        pytest.skip("there is no hadolint for this machine on PyPI")
    finished = subprocess.run(
        [hadolint, str(ROOT / "deploy/Dockerfile")], capture_output=True, text=True, check=False
    )

    assert (0, "") == (finished.returncode, finished.stdout)


def test_the_settings_of_the_image_are_settings_of_the_command() -> None:
    """Each variable that it sets is one that `run` reads."""
    known = {
        str(one.envvar) for one in run_command.get_params(click.Context(run_command)) if one.envvar
    }

    assert set(re.findall(r"(RECONCILER_\w+)=", DOCKERFILE)) <= known | {"RECONCILER_CACHE_DIR"}


IMPORT_FOLDER = ROOT / "deploy/import"


def options_in(arguments: list[str]) -> dict[str, object]:
    """Return how the verb understands its arguments."""
    context = click.Context(import_command, obj=ROOT, resilient_parsing=True)
    import_command.parse_args(context, list(arguments))
    return context.params


def cron_container(folder: Path = IMPORT_FOLDER) -> dict[str, object]:
    """Return the container of a CronJob."""
    job = YAML(typ="safe").load(folder / "cronjob.yaml")
    containers = at(job, "spec", "jobTemplate", "spec", "template", "spec")["containers"]
    assert isinstance(containers, list)
    return dict(containers[0])


def test_the_cron_job_imports_and_pushes() -> None:
    """Its arguments are options of the verb; the remote comes from a secret."""
    container = cron_container()
    arguments = container["args"]
    assert isinstance(arguments, list)
    parsed = options_in(arguments[2:])
    environment = container["env"]
    assert isinstance(environment, list)
    (remote,) = [one for one in environment if one["name"] == "RECONCILER_IMPORT_REMOTE"]

    assert ["reconciler", "import"] == arguments[:2]
    assert ("hub", "main", Path("/kube/config")) == tuple(
        parsed[name] for name in ("context", "branch", "kubeconfig")
    )
    assert {"name": "reconciler-remote", "key": "url"} == remote["valueFrom"]["secretKeyRef"]


def test_the_publishing_cron_job_publishes_a_clone() -> None:
    """Its arguments are options of the verb, and its role has what the verb does on a hub."""
    folder = ROOT / "deploy/publish"
    arguments = cron_container(folder)["args"]
    assert isinstance(arguments, list)
    context = click.Context(publish_command, obj=ROOT, resilient_parsing=True)
    publish_command.parse_args(context, arguments[4:])
    (rule,) = YAML(typ="safe").load(folder / "role.yaml")["rules"]

    assert ["reconciler", "-C", "/cache/fleet", "publish"] == arguments[:4]
    assert ("hub", Path("/kube/config")) == (
        context.params["context"],
        context.params["kubeconfig"],
    )
    assert "clusterprofiles/status" in rule["resources"]


OBSERVE_FOLDER = ROOT / "deploy/observe"


def observed_by(arguments: list[str]) -> dict[str, object]:
    """Return how `observe` understands its arguments."""
    context = click.Context(observe_command, obj=ROOT, resilient_parsing=True)
    observe_command.parse_args(context, list(arguments))
    return context.params


def test_the_observer_sees_its_cluster_and_writes_nothing_there() -> None:
    """Its arguments are options of the verb; its role lists, and its account is let in."""
    account, deployment = YAML(typ="safe").load_all(OBSERVE_FOLDER / "deployment.yaml")
    role, binding = YAML(typ="safe").load_all(OBSERVE_FOLDER / "role.yaml")
    pod = at(deployment, "spec", "template", "spec")
    containers = pod["containers"]
    assert isinstance(containers, list)
    arguments = containers[0]["args"]
    (remote,) = [e for e in containers[0]["env"] if e["name"] == "RECONCILER_OBSERVE_REMOTE"]

    assert ["reconciler", "observe"] == arguments[:2]
    assert ("member1", "main") == tuple(
        observed_by(arguments[2:])[name] for name in ("in_cluster", "branch")
    )
    assert "url" == remote["valueFrom"]["secretKeyRef"]["key"]
    assert {("get", "list", "watch")} == {tuple(rule["verbs"]) for rule in role["rules"]}
    assert {"nodes", "pods"} <= {one for rule in role["rules"] for one in rule["resources"]}
    names = {account["metadata"]["name"], pod["serviceAccountName"], binding["subjects"][0]["name"]}
    assert {"reconciler-observe"} == names


def test_the_judge_hears_what_observers_send() -> None:
    """At the remote, which both reach; it needs nothing of the cluster that it runs in."""
    _, observer = YAML(typ="safe").load_all(OBSERVE_FOLDER / "deployment.yaml")
    judge = YAML(typ="safe").load(OBSERVE_FOLDER / "judge.yaml")

    def options(deployment: Mapping[str, object]) -> Mapping[str, object]:
        containers = at(deployment, "spec", "template", "spec")["containers"]
        assert isinstance(containers, list)
        return observed_by(containers[0]["args"][2:])

    assert ("remote", False) == tuple(options(observer)[name] for name in ("heartbeat", "judge"))
    assert (None, True) == tuple(options(judge)[name] for name in ("heartbeat", "judge"))
    assert at(judge, "spec", "template", "spec")["automountServiceAccountToken"] is False


def test_the_observing_service_observes_what_its_file_says() -> None:
    """The example of arguments is one that the verb understands."""
    text = (OBSERVE_FOLDER / "reconciler-observe.service").read_text(encoding="utf-8")
    example = re.search(r"^# OBSERVE_ARGUMENTS=(.*)$", text, re.MULTILINE)
    assert example is not None

    assert "ExecStart=/usr/local/bin/reconciler observe $OBSERVE_ARGUMENTS\n" in text
    assert ("member1", "member2") == observed_by(example[1].split())["contexts"]


def test_the_service_imports_what_its_file_says() -> None:
    """The example of arguments is one that the verb understands."""
    text = (IMPORT_FOLDER / "reconciler-import.service").read_text(encoding="utf-8")
    example = re.search(r"^# IMPORT_ARGUMENTS=(.*)$", text, re.MULTILINE)
    assert example is not None
    parsed = options_in(example[1].split())

    assert "ExecStart=/usr/local/bin/reconciler import $IMPORT_ARGUMENTS\n" in text
    assert ("member1", "member1") == (parsed["context"], parsed["cluster"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """But for the command, which is not installed here."""
    units_here = OBSERVE_FOLDER.glob("reconciler-observe.*")
    for unit in (*IMPORT_FOLDER.glob("reconciler-import.*"), *units_here):
        text = unit.read_text(encoding="utf-8").replace("/usr/local/bin/reconciler", "/bin/true")
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    units = sorted(str(unit) for unit in tmp_path.iterdir())
    finished = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False
    )

    assert "reconciler-import" not in finished.stderr
    assert "reconciler-observe" not in finished.stderr


def test_kustomize_builds_the_observer() -> None:
    """In its namespace, with a real kubectl; roles are in none."""
    built = subprocess.run(
        [kubectl(), "kustomize", OBSERVE_FOLDER], check=True, capture_output=True, text=True
    )
    found = {one["kind"]: one["metadata"] for one in YAML(typ="safe").load_all(built.stdout)}

    assert "reconciler" == found["Deployment"]["namespace"] == found["ServiceAccount"]["namespace"]
    assert "namespace" not in found["ClusterRole"]


def test_kustomize_builds_the_cron_job() -> None:
    """In its namespace, with a real kubectl."""
    built = subprocess.run(
        [kubectl(), "kustomize", IMPORT_FOLDER], check=True, capture_output=True, text=True
    )
    job = YAML(typ="safe").load(built.stdout)

    assert ("CronJob", "reconciler") == (job["kind"], job["metadata"]["namespace"])


DIGEST = "sha256:" + "a" * 64


@contextmanager
def registry(digest: str) -> Iterator[str]:
    """Serve tokens and manifests as Docker's registry does; whoever has no token is refused."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = "scope=repository:library/python:pull" in self.path
            self._answer(200 if wanted else 400, json.dumps({"token": "tok"}).encode())

        def do_HEAD(self) -> None:
            known = self.headers["Authorization"] == "Bearer tok"
            found = self.path == "/v2/library/python/manifests/3.13"
            self._answer(200 if known and found else 401, b"", digest)

        def _answer(self, code: int, body: bytes, digest: str = "") -> None:
            self.send_response(code)
            self.send_header("Docker-Content-Digest", digest)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()


def test_each_base_image_gets_its_digest() -> None:
    """In the place of an older one; stages keep their names."""
    before = f"FROM python:3.13@sha256:{'0' * 64} AS build\nRUN true\nFROM debian:13\n"
    expected = f"FROM python:3.13@{DIGEST} AS build\nRUN true\nFROM debian:13@{DIGEST}\n"

    assert expected == pinned(before, lambda _image, _tag: DIGEST)


def test_the_registry_is_asked_with_a_token() -> None:
    """For an image of the library."""
    with registry(DIGEST) as url:
        found = digest_at("python", "3.13", registry=url, tokens=f"{url}/token?service=x")

    assert DIGEST == found


def test_an_answer_without_a_digest_is_refused() -> None:
    """Nothing else may stand in the file."""
    with registry("latest") as url, pytest.raises(ValueError, match="without a digest"):
        digest_at("python", "3.13", registry=url, tokens=f"{url}/token?service=x")
