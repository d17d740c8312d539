"""What a pull request from a fork can cause where a pipeline runs `validate` and `plan`."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.worst.files import files
from tests.shell.fleet import EXAMPLE, ROOT, new_fleet, process_environment
from tests.shell.repositories import Checkout

ADDRESS_SPACE_KIB = 1_500_000
CPU_SECONDS = 30
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "s3cr3t-aws",
    "GITHUB_TOKEN": "s3cr3t-github",
    "RECONCILER_REPORT_TOKEN": "s3cr3t-report-token",
    "RECONCILER_WEBHOOK_SECRET": "s3cr3t-webhook-secret",
}
WATCHED = ROOT / "tests/cli/watched_run.py"
READING = {
    "cat-file", "config", "diff-tree", "for-each-ref", "init", "log", "ls-files", "ls-tree",
    "merge-base", "merge-tree", "rev-list", "rev-parse", "status", "symbolic-ref", "version",
}  # fmt: skip
"""Commands of git that need no remote."""


@dataclass(frozen=True)
class Caused:
    """What a verb did: exit code, all that it printed, sockets, programs, what git was given."""

    code: int
    printed: str
    sockets: list[str]
    programs: list[list[str]]
    environment: str


def caused(fleet: Checkout, *words: str) -> Caused:
    """Run a verb within bounds, among secrets, and return what it caused."""
    folder = fleet.folder.parent
    record, environment = folder / "record", folder / "environment"
    wrapper = folder / "bin" / "git"
    wrapper.parent.mkdir(exist_ok=True)
    note = f'[ "$*" = version ] || env >> {shlex.quote(str(environment))}'  # GitPython asks for it
    wrapper.write_text(f'#!/bin/sh\n{note}\nexec {shutil.which("git")} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    known = process_environment()
    bounds = f'ulimit -v {ADDRESS_SPACE_KIB}; ulimit -t {CPU_SECONDS}; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", bounds, "sh", sys.executable, str(WATCHED), str(record), *words],
        cwd=fleet.folder,
        env={**known, **SECRETS, "PATH": f"{wrapper.parent}:{known['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    events = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return Caused(
        done.returncode,
        done.stdout + done.stderr,
        [what for kind, *words in events if kind == "socket" for what in words],
        [words for kind, *words in events if kind == "program"],
        environment.read_text(encoding="utf-8") if environment.exists() else "",
    )


def aliases() -> dict[str, str]:
    """Nine lines that stand for a thousand million values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    names = [", ".join([f"*a{i}"] * 10) for i in range(9)]
    lines += [f"a{i + 1}: &a{i + 1} [{row}]" for i, row in enumerate(names)]
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb, namespace: default}\ndata:\n"
    return {"workloads/bomb.yaml": head + "".join(f"  {line}\n" for line in lines)}


def expressions() -> dict[str, str]:
    """Nested loops of CEL over every label of every cluster."""
    names = "abcdefg"
    loops = "".join(f"[1,2,3,4,5,6,7,8,9,10].all({name}, " for name in names)
    return {
        "placements/slow.yaml": f"""\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: slow, namespace: default}}
spec:
  predicates:
  - requiredClusterSelector:
      celSelector:
        celExpressions:
        - '{loops}true{")" * len(names)}'
"""
    }


def pattern() -> dict[str, str]:
    """A definition of a custom kind whose pattern takes for ever, and an object that meets it."""
    definition = r"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: slows.example.org}
spec:
  group: example.org
  names: {kind: Slow, plural: slows}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {text: {type: string, pattern: '^(a+)+$'}}
""".removeprefix("\\\n")
    body = f'apiVersion: example.org/v1\nkind: Slow\nmetadata: {{name: s}}\ntext: "{"a" * 60}!"\n'
    return {"crds/slow.yaml": definition, "workloads/slow.yaml": body}


def references() -> dict[str, str]:
    """A configuration, a pipeline and attributes that name servers and programs."""
    return {
        ".gitattributes": "* filter=evil diff=evil merge=evil\n",
        ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = https://example.org/x\n',
        "workloads/remote.yaml": (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: r, namespace: default}\n"
            "$schema: https://example.org/schema.json\n$ref: https://example.org/schema.json\n"
            "data: {a: '${GITHUB_TOKEN}', b: $(env), c: '{{ .Env.GITHUB_TOKEN }}'}\n"
        ),
    }


def worst() -> dict[str, str]:
    """All the worst files that are known."""
    return {f"workloads/{name}": content for name, content in files().values()}


HOSTILE: dict[str, Callable[[], dict[str, str]]] = {
    "aliases that multiply": aliases,
    "an expression without end": expressions,
    "a pattern without end": pattern,
    "addresses of servers and programs": references,
    "the worst files": worst,
}


def hostile(folder: Path, title: str) -> Checkout:
    """The example, and a pull request of a fork that is checked out."""
    fleet = new_fleet(folder / "fleet")
    fleet.git("switch", "--quiet", "--create", "fork")
    fleet.commit(HOSTILE[title]())
    return fleet


@pytest.mark.parametrize("title", HOSTILE)
@pytest.mark.parametrize("words", ["validate", "plan --base main --head fork -o markdown"])
def test_a_fork_causes_nothing_but_an_answer_within_bounds(
    tmp_path: Path, title: str, words: str
) -> None:
    """No socket, no program but git on local objects, no secret shown or handed on; it ends."""
    found = caused(hostile(tmp_path, title), *words.split())

    assert found.code in (0, 1), found.printed[-2000:]
    assert "mistake" not in found.printed
    assert [] == found.sockets
    verbs = {next(word for word in reversed(words) if word in READING) for words in found.programs}
    assert verbs <= READING
    assert [] == [name for name, value in SECRETS.items() if value in found.printed]
    assert [] == [name for name, value in SECRETS.items() if value in found.environment]


def test_what_watches_a_run_notices(tmp_path: Path) -> None:
    """A socket, a program and a secret that is handed on are seen where there are some."""
    fleet = new_fleet(tmp_path / "fleet")
    script = tmp_path / "probe.py"
    script.write_text(
        "import sys, socket, subprocess\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from tests.cli.watched_run import watch\n"
        "watch(Path(sys.argv[1]))\n"
        "socket.socket().close()\n"
        "subprocess.run(['true'], check=True)\n"
    )
    record = tmp_path / "seen"

    subprocess.run([sys.executable, str(script), str(record)], cwd=fleet.folder, check=True)

    assert [["socket", "socket.__new__"], ["program", "true"]] == [
        json.loads(line) for line in record.read_text().splitlines()
    ]
    assert EXAMPLE
