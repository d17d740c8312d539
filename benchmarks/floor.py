"""What a first pass by command takes beside the least that any program would for the same bytes.

The floor decides nothing: Python starts, git reads what people wrote, it is parsed, what the pass
wrote is emitted, hashed, written by git and checked out. JSON of the same documents, in C, stands
for the fastest YAML that there could be. All is processor time on one processor, byte code made
before, that of git's processes included, and without the cache. Ten workloads have a policy; either
all differ in requests, replicas and labels, or the ten ask for the same, or all is as `init` writes
it: the clusters say what they have, room is protected, and each has a folder.
"""

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import (
    CLUSTERS,
    TEAM,
    git,
    team_workload,
    teams_of,
    write_checkout,
)
from benchmarks.worst.protection import STATUS
from reconciler.manifests.text.reader import read

MANIFESTS = 10_000
STARTS = 10
IMPORT = "commit refs/heads/floor\ncommitter floor <> 0 +0000\ndata 0\n"
LISTED = ("git", "ls-tree", "-r", "-z", "HEAD~1")
READ = ("git", "cat-file", "--batch", "--buffer")
PASS = (sys.executable, "-m", "reconciler", "--cache-dir", "off", "reconcile")
WRITTEN = ("status", "delivery")
AS_INIT = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: bench}
spec:
  inventory: {project: true}
  scores: {extend: true}
  capacity: {protect: true}
  feedback: {assumeAfterSeconds: 1}
  delivery: {folders: {}}
"""


def figures(manifests: int = MANIFESTS) -> Iterator[Figure]:
    """Yield of each kind of fleet the floor, the pass, and how much of the one the other is."""
    workloads = (manifests - CLUSTERS) * TEAM // (TEAM + 1)
    yield from _of_fleet(f"{manifests:,} manifests, all differ", _differing(workloads))
    yield from _of_fleet(f"{manifests:,} manifests, ten ask alike", _alike(workloads))
    yield from _of_fleet(f"{manifests:,} manifests, as init writes it", _as_init(workloads))


def _differing(workloads: int) -> dict[str, str]:
    """Return a fleet whose workloads differ in all that is theirs."""
    files = teams_of(CLUSTERS, workloads)
    for i in range(workloads):
        for path, text in team_workload(i, 10 + i % 4999).items():
            asked = text.replace("cpu: 250m", f"cpu: {100 + i}m")
            files[path] = asked.replace("app: web,", f"app: web, own: o{i},")
    return files


def _alike(workloads: int) -> dict[str, str]:
    """Return a fleet in which the ten workloads of a policy ask for the same."""
    files = teams_of(CLUSTERS, workloads)
    for i in range(workloads):
        team = i // TEAM
        for path, text in team_workload(i, 10 + 7 * team % 90).items():
            files[path] = text.replace("cpu: 250m", f"cpu: {100 + team}m")
    return files


def _as_init(workloads: int) -> dict[str, str]:
    """Return a fleet that differs, whose clusters say what they have, configured by `init`."""
    files = _differing(workloads)
    reporting = {
        path: text + STATUS for path, text in files.items() if path.startswith("clusters/")
    }
    return {**files, **reporting, "reconciler.yaml": AS_INIT}


def _of_fleet(fleet: str, files: Mapping[str, str]) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as place:
        folder = Path(place) / "fleet"
        write_checkout(folder, files)
        _run((sys.executable, "-m", "reconciler", "version"), folder)
        took = _took(lambda: _run(PASS, folder))
        parts = dict(_parts(folder, Path(place) / "other"))
    floor = sum(parts.values())
    note = ", ".join(f"{name} {seconds:.2f}" for name, seconds in parts.items())
    named = f"first pass by command, {fleet}"
    yield Figure(f"floor of a {named}", floor, Unit.SECONDS, note)
    yield Figure(f"processor time of a {named}", took, Unit.SECONDS, "on one processor")
    yield Figure(f"{named}, of its floor", 100 * took / floor, Unit.PERCENT)


def _parts(folder: Path, other: Path) -> Iterator[tuple[str, float]]:
    """Yield what takes how many seconds of processor time, where a pass was the last commit."""
    inputs, outputs = _files(folder, "HEAD~1"), _files(folder, "HEAD", *WRITTEN)
    parsed = [json.dumps(_bodies(path, data)) for path, data in inputs]
    bodies = [_bodies(path, data) for path, data in outputs]
    stream = IMPORT.encode() + b"".join(
        b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)
        for path, data in outputs
    )
    ids = _ids(_run(LISTED, folder))
    git(folder, "init", "-q", str(other))

    start = (sys.executable, "-c", "pass")
    yield "start", _took(lambda: [_run(start, folder) for _ in range(STARTS)]) / STARTS
    yield "read", _took(lambda: (_run(LISTED, folder), _run(READ, folder, ids)))
    yield "parse", _took(lambda: [json.loads(text) for text in parsed])
    yield "emit", _took(lambda: [json.dumps(body) for body in bodies])
    yield "hash", _took(lambda: [hashlib.sha1(data).digest() for _, data in outputs])  # noqa: S324  # git's
    yield "write", _took(lambda: _run(("git", "fast-import", "--quiet"), other, stream))
    yield "check out", _took(lambda: git(other, "checkout", "-q", "floor"))


def _files(folder: Path, revision: str, *below: str) -> list[tuple[str, bytes]]:
    """Return the files of a commit."""
    listed = _run((*LISTED[:-1], revision, "--", *below), folder)
    content = _run(READ, folder, _ids(listed))
    files, at = [], 0
    for record in listed.decode().split("\0")[:-1]:
        begin = content.index(b"\n", at) + 1
        at = begin + int(content[at:begin].split()[2]) + 1
        files.append((record.partition("\t")[2], content[begin : at - 1]))
    return files


def _ids(listed: bytes) -> bytes:
    return b"".join(record.split()[2] + b"\n" for record in listed.split(b"\0")[:-1])


def _bodies(path: str, data: bytes) -> list[object]:
    return [document.body for document in read(data, path).documents]


def _run(words: Sequence[str], folder: Path, stdin: bytes = b"") -> bytes:
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        words, cwd=folder, input=stdin, env=kept, stdout=subprocess.PIPE, check=True
    ).stdout


def _took(run: Callable[[], object]) -> float:
    """Return the processor time of a call on one processor, that of its processes included."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    before = _used()
    try:
        run()
    finally:
        os.sched_setaffinity(0, processors)
    return _used() - before


def _used() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in used)
