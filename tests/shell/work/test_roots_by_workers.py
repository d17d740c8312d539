"""Roots whose passes the workers of a real Dask cluster compute, on loopback."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.shell.daemon.test_roots import ROOTS, WATCHED, ask, fleets, placed
from tests.shell.dask_processes import Cluster, cluster_in
from tests.shell.fleet import eventually, process_environment, running
from tests.shell.repositories import new_bare

GLOB = ("--roots", "teams/*")
CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: fleet}
spec: {}
"""


def own_settings(folder: Path) -> Mapping[str, str]:
    """Return the environment of a worker that keeps its mirrors below a folder."""
    return {**process_environment(), "XDG_CACHE_HOME": str(folder / "cache")}


def files() -> Mapping[str, str]:
    """Return the files of two roots, as a pattern finds them."""
    return {**fleets(*ROOTS), **{f"{root}/reconciler.yaml": CONFIGURATION for root in ROOTS}}


@contextmanager
def served(remote: Path, folder: Path, cluster: Cluster, *more: str) -> Iterator[Path]:
    """Serve the roots of a remote by workers; yields the log."""
    log = folder / "daemon.log"
    service = ["--remote", f"file://{remote}", "--mirror", str(folder / "mirror")]
    with running(folder, *service, *GLOB, "--executor", cluster.dask, *WATCHED, *more, log=log):
        yield log


def test_workers_decide_about_each_root(tmp_path: Path) -> None:
    """Through mirrors of their own; the list of roots says which worker has which."""
    remote = new_bare(tmp_path / "remote.git", files())
    with cluster_in(tmp_path, workers=0) as cluster:
        for _ in range(2):
            cluster.start_worker(environment=own_settings(tmp_path))
        with served(remote, tmp_path, cluster) as log:
            eventually(lambda: [placed(remote, root) for root in ROOTS] == [3, 3], log.read_text())
            eventually(lambda: ask(log, "/readyz")[0] == 200, "both roots")
            page = ask(log, "/")[1]
    for process in cluster.processes[1:]:
        assert process.poll() is not None
    assert 2 == len(set(re.findall(r"tcp://127\.0\.0\.1:\d+", page)))
    assert 2 == len(list((tmp_path / "cache/reconciler").glob("*worker-*.git")))
