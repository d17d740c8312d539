"""What it takes to observe a fleet: processor time of a quiet minute, and memory.

One process stands for all API servers, over TLS with a connection of its own for each question, as
keep-alive has it. It is not counted; the git that the observer runs is.
"""

import asyncio
import gc
import json
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.own_process import figures_of, hand_over, resident_megabytes
from reconciler.cli.observe import Observation, Reporter, ReportTarget
from reconciler.cli.trust import SigningOptions
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.observation.kube_access import context_access
from reconciler.shell.observation.kube_api import KubeApi
from reconciler.shell.observation.observer import ClusterObserver
from tests.builders import cluster, path_of, text
from tests.kube.members import node, pod
from tests.shell.repositories import FixedClock, new_bare
from tests.shell.servers import new_certificate

CLUSTERS, PODS, NODES = 500, 100, 10
PROBE_SECONDS, COMMIT_SECONDS = 10, 60
MINUTES = 3
HERE = "benchmarks.observed"


def figures() -> Iterator[Figure]:
    """Yield the figures, measured in a process of its own."""
    yield from figures_of("observed", "observe")


def _named(body: Body, number: int) -> Body:
    own = {"uid": f"{number:08d}", "resourceVersion": "1"}
    return {**body, "metadata": {**at(body, "metadata"), **own}}


def _answers() -> dict[str, bytes]:
    """What every server says, by path."""
    nodes = [_named(node(f"n{i}"), i) for i in range(NODES)]
    pods = [_named(pod(f"p{i}", on=f"n{i % NODES}"), NODES + i) for i in range(PODS)]
    listed = [{"name": "nodes", "kind": "Node"}, {"name": "pods", "kind": "Pod"}]
    bodies = {
        "/readyz": {},
        "/version": {"gitVersion": "v1.34.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "groups": []},
        "/api/v1": {"resources": [{**one, "verbs": ["list", "watch"]} for one in listed]},
        "/api/v1/nodes": {"kind": "NodeList", "apiVersion": "v1", "items": nodes},
        "/api/v1/pods": {"kind": "PodList", "apiVersion": "v1", "items": pods},
    }
    found = {path: json.dumps(body).encode() for path, body in bodies.items()}
    for path in ("/api/v1/nodes", "/api/v1/pods"):
        found[path] = found[path][:-1] + b', "metadata": {"resourceVersion": "1"}}'
    return found


async def _serve(certificate: str, key: str) -> None:
    """Answer on a free port until the process is ended; print the port."""
    answers = _answers()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            path, _, query = line.split()[1].decode().partition("?")
            while (await reader.readline()).strip():
                pass
            if "watch=1" in query:
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                await writer.drain()
                await asyncio.Event().wait()
            data = answers.get(path, b"{}")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
            await writer.drain()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _observe(folder: Path) -> Iterator[Figure]:
    certificate = new_certificate(folder)
    serving = [sys.executable, "-m", HERE, "serve", str(certificate.file), str(certificate.key)]
    with subprocess.Popen(serving, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline()) if server.stdout else 0
            yield from _quiet(folder, port, certificate.file)
        finally:
            server.kill()


def _quiet(folder: Path, port: int, authority: Path) -> Iterator[Figure]:
    names = [f"member{number:03d}" for number in range(CLUSTERS)]
    remote = new_bare(folder / "remote", {path_of(c): text(c) for c in map(cluster, names)})
    config = folder / "kubeconfig"
    entry = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(authority)}
    config.write_text(
        json.dumps(
            {
                "clusters": [{"name": "all", "cluster": entry}],
                "contexts": [{"name": "all", "context": {"cluster": "all"}}],
            }
        )
    )
    clock = FixedClock()
    target = ReportTarget(
        branch="main",
        author="Observer <observer@example.com>",
        signing=SigningOptions(None, "ssh"),
        layout=RepositoryLayout(),
        tolerance_percent=5,
    )
    with Mirror.open(f"file://{remote}", folder / "mirror.git") as mirror:
        observers = tuple(
            ClusterObserver(name, KubeApi(context_access(str(config), "all"), timeout_seconds=60))
            for name in names
        )
        every = timedelta(seconds=COMMIT_SECONDS)
        observation = Observation(
            Reporter(mirror, target, clock), observers, clock, every, lambda _: None
        )
        seconds, memory = asyncio.run(_minutes(observation, clock))
    note = f"{CLUSTERS} clusters with {CLUSTERS * PODS:,} pods, a probe every {PROBE_SECONDS} s"
    yield Figure("observing a quiet fleet, processor time of a minute", seconds, Unit.SECONDS, note)
    yield Figure("observing a quiet fleet, memory", memory, Unit.MEGABYTES, note)


async def _minutes(observation: Observation, clock: FixedClock) -> tuple[float, float]:
    """Return the processor time of a quiet minute, and the memory afterwards."""

    async def rounds(count: int) -> None:
        for _ in range(count):
            clock.moment += timedelta(seconds=PROBE_SECONDS)
            await observation.round()
            await asyncio.gather(*(one.synced() for one in observation.observers))

    await rounds(2 * COMMIT_SECONDS // PROBE_SECONDS + 1)
    gc.collect()
    start = _spent()
    await rounds(MINUTES * 60 // PROBE_SECONDS)
    spent = (_spent() - start) / MINUTES
    held = resident_megabytes()
    for one in observation.observers:
        await one.close()
    return spent, held


def _spent() -> float:
    """Return the processor time of this process, and of what it ran to its end: git."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(_serve(*sys.argv[2:]))
    else:
        with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
            hand_over(_observe(Path(name)))
