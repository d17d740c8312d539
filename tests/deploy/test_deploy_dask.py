"""deploy/kubernetes-dask: kubectl builds it, and its commands make a cluster that speaks TLS."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from reconciler.cli.settings import read_settings
from reconciler.cli.verbs.run import run_command
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, strings
from release.locked import read_pins
from tests.deploy.test_deploy_kubernetes import DOCKERFILE, built_list
from tests.shell.dask_processes import new_tls_files
from tests.shell.fleet import ROOT, eventually

FOLDER = ROOT / "deploy/kubernetes-dask"
NAMES = ("reconciler", "reconciler-scheduler", "reconciler-worker")
USES = """
import sys
from reconciler.shell.work.dask import open_cluster
with open_cluster(sys.argv[1]) as workers:
    print(workers.count, workers.executor.submit(sum, (1, 2)).result())
"""
SETTINGS = read_settings(click.Context(run_command, info_name="run"), FOLDER / "settings.yaml")


def of_kind(kind: str) -> dict[str, Body]:
    """Return the objects of a kind, by name."""
    found = (one for one in built_list(FOLDER) if one["kind"] == kind)
    return {str(mapping(one, "metadata")["name"]): one for one in found}


def pods() -> dict[str, Body]:
    """Return the pod of each Deployment, by name."""
    found = of_kind("Deployment")
    return {name: at(one, "spec", "template", "spec") for name, one in found.items()}


def container(name: str) -> Body:
    """Return the container of a Deployment."""
    (only,) = bodies(pods()[name], "containers")
    return only


def environment(name: str) -> dict[str, str]:
    """Return the variables that a Deployment sets."""
    return {str(one["name"]): str(one["value"]) for one in bodies(container(name), "env")}


def test_kubectl_builds_it() -> None:
    """The daemon, the scheduler and workers, all of one image, in one namespace."""
    objects = built_list(FOLDER)

    assert {*NAMES} == pods().keys()
    assert {"reconciler"} == {mapping(one, "metadata")["namespace"] for one in objects}
    assert {"example.com/reconciler-dask:latest"} == {container(one)["image"] for one in NAMES}
    assert {*NAMES} == of_kind("NetworkPolicy").keys()


def test_the_image_has_dask() -> None:
    """As a target of its own, with all that the other one has, in the same versions."""
    targets = re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE)
    plain, more = (
        {(pin.name, pin.version) for pin in read_pins((ROOT / "deploy" / name).read_text())}
        for name in ("requirements.txt", "requirements-dask.txt")
    )

    assert "dask" in targets
    assert plain < more
    assert {"dask", "distributed"} <= {name for name, _ in more - plain}


@pytest.mark.parametrize("name", NAMES)
def test_no_pod_has_rights(name: str) -> None:
    """Nobody's user, a read-only root, no capability, no token."""
    pod = pods()[name]
    rights = {**mapping(pod, "securityContext"), **mapping(container(name), "securityContext")}
    (user,) = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    expected = {
        "runAsNonRoot": True,
        "runAsUser": int(user),
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }

    assert expected == {name: rights[name] for name in expected}
    assert pod["automountServiceAccountToken"] is False


def test_daemon_and_workers_have_the_same_settings() -> None:
    """What these name is mounted in both; the scheduler is at the address of its Service."""
    (port,) = bodies(mapping(of_kind("Service")["reconciler-scheduler"], "spec"), "ports")
    named = {str(Path(str(SETTINGS[one])).parent) for one in ("credential_file", "mirror")}

    assert f"tls://reconciler-scheduler:{port['port']}" == SETTINGS["executor"]
    assert SETTINGS["executor"] in strings(container("reconciler-worker"), "args")
    assert "--settings=/settings/settings.yaml" in strings(container("reconciler"), "args")
    assert {"RECONCILER_SETTINGS": "/settings/settings.yaml"} == environment("reconciler-worker")
    for name in ("reconciler", "reconciler-worker"):
        mounts = {str(one["mountPath"]) for one in bodies(container(name), "volumeMounts")}
        assert {"/settings", "/tls", *named} <= mounts


def test_traffic_is_let_through_where_it_goes() -> None:
    """From the daemon to the scheduler, between that and the workers, and between those."""
    ports = {
        name: {str(one["name"]): one["containerPort"] for one in bodies(container(name), "ports")}
        for name in NAMES[1:]
    }
    out = {
        name: {
            (at(to, "podSelector", "matchLabels")["app.kubernetes.io/name"], port["port"])
            for rule in bodies(mapping(policy, "spec"), "egress")
            for to in bodies(rule, "to")
            for port in bodies(rule, "ports")
        }
        for name, policy in of_kind("NetworkPolicy").items()
    }
    scheduler = ("reconciler-scheduler", ports["reconciler-scheduler"]["dask"])
    worker = ("reconciler-worker", ports["reconciler-worker"]["dask"])

    assert {NAMES[0]: {scheduler}, NAMES[1]: {worker}, NAMES[2]: {scheduler, worker}} == out


def free_port() -> str:
    """Return a port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


@pytest.fixture
def started(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Start scheduler and worker as the manifests do; yields the address, and the certificates."""
    tls, port = new_tls_files(tmp_path), free_port()
    processes = []
    try:
        for name in NAMES[1:]:
            words = [*strings(container(name), "command"), *strings(container(name), "args")]
            words = _here(words, tls, port)
            program = [sys.executable, "-m", "dask", *words[1:]]
            log = (tmp_path / f"{name}.log").open("wb")
            variables = {**os.environ, "PYTHONPATH": str(ROOT)}
            processes.append(
                subprocess.Popen(program, cwd=tmp_path, env=variables, stdout=log, stderr=log)
            )
            log.close()
        registered = tmp_path / "reconciler-worker.log"
        eventually(lambda: "Registered to:" in registered.read_text(), "the worker")
        yield f"tls://127.0.0.1:{port}", tls
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _here(words: Sequence[str], tls: Path, port: str) -> list[str]:
    """Return a command of a pod as it is on this machine."""
    named = {"reconciler-scheduler": "127.0.0.1", "8786": port, "8788": "0", "/tls/": f"{tls}/"}
    found = [*words]
    for there, here in named.items():
        found = [word.replace(there, here) for word in found]
    return [*found, "--host=127.0.0.1"]


@pytest.mark.cpu_seconds(30)
def test_the_commands_make_a_cluster(started: tuple[str, Path]) -> None:
    """Which a daemon reaches with the variables that its pod has."""
    address, tls = started
    tls_of_daemon = {
        name: value.replace("/tls/", f"{tls}/") for name, value in environment("reconciler").items()
    }
    finished = subprocess.run(
        [sys.executable, "-c", USES, address],
        env={**os.environ, "PYTHONPATH": str(ROOT), **tls_of_daemon},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ("1 3\n", "") == (finished.stdout, finished.stderr)
