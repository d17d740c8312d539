"""Processes: kubectl and its failures, lines of a pipe, and memory that goes back."""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reconciler.errors import ShellError, UsageError
from reconciler.shell.processes.kubectl import Kubectl, NotServed, ResourceForbidden
from reconciler.shell.processes.signals import PATIENCE_SECONDS, held_signals, lines_of
from tests.imports.hubs import karmada_hub
from tests.shell.kubectl_stand_in import stand_in

CLUSTERS = "clusters.cluster.karmada.io"
PATIENCE_MILLISECONDS = 10_000  # far less than what is started would run


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in, first on the PATH."""
    folder = stand_in(tmp_path / "tools", karmada_hub(0), forbidden=["secrets"])
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_everything_is_listed(tools: Path) -> None:
    """In all namespaces, as JSON, with the server's own time limit."""
    found = json.loads(Kubectl(context="hub").get(CLUSTERS))

    assert 10 == len(found["items"])
    assert (
        f"--context hub --request-timeout=60s get {CLUSTERS} --all-namespaces --output json\n"
        == (tools / "asked").read_text()
    )


def test_one_namespace_and_another_configuration_can_be_asked_for(tools: Path) -> None:
    """As with kubectl itself."""
    config = tools / "config"
    Kubectl(context="hub", kubeconfig=config, namespace="shop").get(CLUSTERS)
    asked = (tools / "asked").read_text()

    assert f"--kubeconfig {config} " in asked
    assert f"get {CLUSTERS} --namespace shop --output json" in asked


def test_it_sees_nothing_of_our_environment_but_what_it_needs(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No token of ours reaches a plugin that logs it in."""
    monkeypatch.setenv("RECONCILER_REMOTE", "https://ada:secret@example.com/fleet.git")
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    Kubectl(context="hub").get(CLUSTERS)
    seen = (tools / "environment").read_text()

    assert ("secret" in seen, "KUBECONFIG=/nowhere" in seen) == (False, True)


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("context", "resource", "error", "words"),
    [
        pytest.param("hob", CLUSTERS, UsageError, 'no context "hob"', id="context"),
        pytest.param("hub", "widgets", NotServed, "hub has no widgets", id="not-served"),
        pytest.param("hub", "secrets", ResourceForbidden, "may not list secrets", id="forbidden"),
        pytest.param("hub", "down", ShellError, "cannot be reached: The connection", id="down"),
    ],
)
def test_a_failure_is_one_sentence(
    context: str, resource: str, error: type[Exception], words: str
) -> None:
    """Of the class that says who must act."""
    with pytest.raises(error, match=words):
        Kubectl(context=context).get(resource)


def test_a_server_says_what_its_kinds_are_called(tools: Path) -> None:
    """With short names and without, of groups and of the core; a plural is as a CRD gives it."""
    gateway = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {}}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop"}}
    stand_in(tools, [gateway, settings, *karmada_hub(1)], plurals={"Gateway": "gateways"})
    found = Kubectl(context="hub").discover()

    assert {
        ("gateway.networking.k8s.io", "Gateway"): "gateways.gateway.networking.k8s.io",
        ("", "ConfigMap"): "configmaps",
        ("apps", "Deployment"): "deployments.apps",
    }.items() < found.resources.items()
    assert () == found.problems
    assert (
        "--context hub --request-timeout=60s api-resources --verbs=list --no-headers\n"
        == (tools / "asked").read_text()
    )


def test_an_api_that_does_not_answer_hides_no_other(tools: Path) -> None:
    """What kubectl says of it is told."""
    (tools / "unavailable").touch()
    found = Kubectl(context="hub").discover()

    assert ("cluster.karmada.io", "Cluster") in found.resources
    assert 1 == len(found.problems)
    assert "metrics.k8s.io/v1beta1: the server is currently unable" in found.problems[0]


@pytest.mark.usefixtures("tools")
def test_a_context_that_is_unknown_has_no_kinds() -> None:
    """It is the person who must act."""
    with pytest.raises(UsageError, match='no context "hob"'):
        Kubectl(context="hob").discover()


@pytest.mark.parametrize("resource", ["slow", "stubborn"])
def test_a_server_that_hangs_is_given_up(tools: Path, resource: str) -> None:
    """The time limit is ours, whatever kubectl does; what it started ends with it."""
    with pytest.raises(ShellError, match=r"did not list \w+ within 0.2 s; .* gives it longer"):
        Kubectl(context="hub", timeout_seconds=0.2).get(resource)

    assert has_ended(int((tools / "pid").read_text()))


def has_ended(process: int) -> bool:
    """Whether a process is gone, or goes soon: a signal that was sent may still be on its way."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        ending = select.poll()
        ending.register(descriptor, select.POLLIN)
        return bool(ending.poll(PATIENCE_MILLISECONDS))
    finally:
        os.close(descriptor)


def test_a_machine_without_kubectl_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that it printed elsewhere will do."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError, match="no kubectl on the PATH"):
        Kubectl(context="hub").get(CLUSTERS)


def test_lines_come_whole_however_they_are_written() -> None:
    """In pieces, several at once; what has no end is none."""
    out, into = os.pipe()
    os.write(into, b"first\nsec")
    lines = lines_of(out, lambda: False)
    found = [next(lines)]
    os.write(into, b"ond\nthird\nrest")
    os.close(into)

    assert [b"first", b"second", b"third"] == [*found, *lines]
    os.close(out)


def test_work_is_done_while_no_line_is_there() -> None:
    """After a line, a piece after the other, until there is no more or a line comes."""
    out, into = os.pipe()
    done: list[int] = []

    def work_on() -> bool:
        done.append(len(done))
        if len(done) == 3:
            os.write(into, b"second\n")
        return len(done) < 5

    os.write(into, b"first\n")
    lines = lines_of(out, work_on)
    found = [next(lines), next(lines)]
    seen = len(done)
    os.close(into)

    assert ([b"first", b"second"], 3, []) == (found, seen, [*lines])
    os.close(out)


def test_a_line_that_waits_is_answered_before_any_work() -> None:
    """Questions come first."""
    out, into = os.pipe()
    os.write(into, b"first\nsecond\n")
    os.close(into)

    def work_on() -> bool:
        raise AssertionError("there was a line")

    lines = lines_of(out, work_on)
    assert [b"first", b"second"] == [next(lines), next(lines)]
    os.close(out)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_signals_wait_for_the_end_of_a_block(times: int) -> None:
    """However many come together, as timeout(1) and systemd send two; each kind is raised once."""
    caught: list[str] = []
    signal.signal(signal.SIGTERM, lambda *_: caught.append("handled"))
    with held_signals():
        for _ in range(times):
            signal.raise_signal(signal.SIGTERM)
        caught.append("done")

    assert ["done", "handled"] == caught


def test_a_signal_that_comes_later_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks again wants an end now."""
    caught: list[str] = []
    moments = iter([100.0, 100.0 + PATIENCE_SECONDS])
    signal.signal(signal.SIGTERM, lambda *_: caught.append("handled"))
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    with held_signals():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        caught.append("done")

    assert ["handled", "done", "handled"] == caught


HOLDS_AND_FREES = """
import ctypes
from benchmarks.own_process import resident_megabytes
from reconciler.shell.processes.limits import give_back

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(100_000) for _ in range(600)]
for block in blocks:
    ctypes.memset(block, 1, 100_000)
last = libc.malloc(100_000)
for block in blocks:
    libc.free(block)
before = resident_megabytes()
give_back()
print(before - resident_megabytes())
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library gives back by itself"
)
def test_what_lies_below_a_block_in_use_is_given_back() -> None:
    """Sixty megabytes were freed below the last one."""
    command = [sys.executable, "-c", HOLDS_AND_FREES]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert float(said) > 50
