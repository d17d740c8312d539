"""deploy/kubernetes and deploy/Dockerfile: kubectl builds the one, hadolint takes the other."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from ruamel.yaml import YAML

from reconciler.cli.settings import read_settings
from reconciler.cli.verbs.run import run_command
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping
from tests.delivery.kubectl import kubectl
from tests.shell.fleet import ROOT
from tests.shell.listening import served

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
