"""Pipelines: what their templates run exists, and what a pull request from a fork can cause."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from benchmarks.worst.files import files
from reconciler.audit.previews.wording import MARKER
from reconciler.cli.main import cli
from tests.shell.fleet import EXAMPLE, ROOT, new_fleet, process_environment
from tests.shell.repositories import Checkout, new_checkout

EXAMPLE_FOLDER = ROOT / "example-repo"
GITHUB = YAML(typ="safe").load((EXAMPLE_FOLDER / ".github/workflows/reconciler.yaml").read_text())
GITLAB = YAML(typ="safe").load((EXAMPLE_FOLDER / ".gitlab-ci.yml").read_text())
PINNED = re.compile(r"actions/(checkout|setup-python)@[0-9a-f]{40}")
ALLOWED = {
    "env": r"github\.(base_ref|token|event\.pull_request\.(head\.sha|number))",
    "concurrency": r"github\.ref",
}
"""Where an expression of GitHub may stand, and which."""

STORY = {
    "clusters/member1.yaml": (EXAMPLE_FOLDER / "clusters/member1.yaml").read_text(),
    "policies/settings.yaml": (EXAMPLE_FOLDER / "policies/settings.yaml").read_text(),
}
WORKLOAD = {"workloads/settings.yaml": (EXAMPLE_FOLDER / "workloads/settings.yaml").read_text()}


def steps() -> Iterator[Mapping[str, Any]]:
    """Every step of GitHub's pipeline."""
    for job in GITHUB["jobs"].values():
        yield from job["steps"]


def scripts() -> list[str]:
    """Every script of both pipelines."""
    jobs = (job for job in GITLAB.values() if isinstance(job, dict) and "script" in job)
    found = [script for job in jobs for script in job["script"]]
    return [*(step["run"] for step in steps() if "run" in step), *found]


def commands() -> list[list[str]]:
    """Every command line of ours, without what the shell takes of it."""
    lines = [line.strip() for script in scripts() for line in script.splitlines()]
    ours = [line.partition(" > ")[0] for line in lines if line.startswith("reconciler ")]
    return [shlex.split(line)[1:] for line in ours]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_exists_with_its_options(words: list[str]) -> None:
    """The verb parses what the pipeline gives it."""
    context = cli.make_context("reconciler", list(words))
    command = cli.get_command(context, words[0])

    assert command is not None
    assert command.make_context(words[0], words[1:], parent=context).params


def test_both_pipelines_validate_and_plan() -> None:
    """Each with the report that its forge shows."""
    found = [" ".join(words) for words in commands()]

    assert ["validate -o github", "validate -o text -o junit=reconciler.xml"] == [
        line for line in found if line.startswith("validate")
    ]
    assert 2 == sum(line.startswith("plan --base") and "-o markdown" in line for line in found)


@pytest.mark.parametrize("script", scripts())
def test_every_script_is_one(script: str) -> None:
    """Bash reads it; no other Python than the isolated one runs beside files of a stranger."""
    subprocess.run(["bash", "-n", "-c", script], check=True)

    assert "${{" not in script
    assert not re.search(r"python3? (?!-I )", script)


def test_github_is_given_no_more_than_it_needs() -> None:
    """No secrets, no privileged event, pinned actions, expressions as variables only."""
    text = json.dumps(GITHUB)

    assert {"push", "pull_request", "merge_group"} == set(GITHUB["on"])
    assert GITHUB["on"]["pull_request"] is None  # a skipped check that is required stays pending
    assert {} == GITHUB["permissions"]
    assert {"contents": "read"} == GITHUB["jobs"]["validate"]["permissions"]
    assert {"contents": "read", "pull-requests": "write"} == GITHUB["jobs"]["plan"]["permissions"]
    assert "secrets" not in text
    assert all(PINNED.fullmatch(step["uses"]) for step in steps() if "uses" in step)
    assert {False} == {
        step["with"]["persist-credentials"]
        for step in steps()
        if "checkout" in step.get("uses", "")
    }
    used = re.findall(r"\$\{\{ (.*?) \}\}", text)
    assert all(re.fullmatch("|".join(ALLOWED.values()), one) for one in used)


def test_a_fork_gets_no_comment() -> None:
    """Its token could not write one."""
    comment = next(step for step in steps() if step.get("name") == "Comment")

    assert "github.event.pull_request.head.repo.full_name == github.repository" == comment["if"]


def test_the_marker_is_that_of_the_plan() -> None:
    """By it a comment is found again."""
    assert 2 == sum(MARKER in script for script in scripts())


FAKE = """#!{python}
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
print({answer})
"""


def fake(folder: Path, name: str, answer: str) -> None:
    """Put a command on the path that notes how it was called."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(FAKE.format(python=sys.executable, answer=answer))
    path.chmod(0o755)


def run_script(folder: Path, tools: Path, script: str, **variables: str) -> list[list[str]]:
    """Run a script as a forge does, and return how the fake commands were called."""
    shim = tools / "reconciler"
    tools.mkdir(exist_ok=True)
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m reconciler "$@"\n')
    shim.chmod(0o755)
    calls = tools / "calls"
    calls.write_text("")
    environment = {
        **process_environment(),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "CALLS": str(calls),
        **variables,
    }
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=environment, check=True
    )
    return [json.loads(line) for line in calls.read_text().splitlines()]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param("", ["POST", "repos/o/r/issues/7/comments"], id="first"),
        pytest.param("41\n42", ["PATCH", "repos/o/r/issues/comments/41"], id="again"),
    ],
)
def test_github_comments_once(tmp_path: Path, found: str, expected: list[str]) -> None:
    """The plan of the branch is posted, or takes the place of the last one."""
    origin = new_checkout(tmp_path / "origin", STORY)
    origin.git("checkout", "--quiet", "-b", "topic")
    head = origin.commit(WORKLOAD)
    origin.git("checkout", "--quiet", "main")
    origin.git("clone", "--quiet", str(origin.folder), str(tmp_path / "clone"))
    plan, comment = (step["run"] for step in steps() if step.get("name") in ("Plan", "Comment"))
    fake(tmp_path / "tools", "gh", repr(found))
    variables = {
        "BASE": "main",
        "HEAD": head,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_REPOSITORY": "o/r",
        "NUMBER": "7",
    }

    run_script(tmp_path / "clone", tmp_path / "tools", plan, **variables)
    calls = run_script(tmp_path / "clone", tmp_path / "tools", comment, **variables)

    text = (tmp_path / "plan.md").read_text()
    assert text == (tmp_path / "summary.md").read_text()
    assert text.startswith(f"{MARKER}\n### Plan: 1 new")
    assert 2 == len(calls)
    assert expected == calls[1][3:5]
    assert ["--field", f"body=@{tmp_path}/plan.md"] == calls[1][5:]


NOTES = [
    {"id": 1, "author": {"id": 5}, "body": f"{MARKER} somebody else's"},
    {"id": 2, "author": {"id": 9}, "body": "hello"},
]
OURS = {"id": 3, "author": {"id": 9}, "body": f"{MARKER}\n### Plan"}


@pytest.mark.parametrize(
    ("notes", "token", "expected"),
    [
        pytest.param(NOTES, "t", ["POST", "/notes"], id="first"),
        pytest.param([*NOTES, OURS], "t", ["PUT", "/notes/3"], id="again"),
        pytest.param(NOTES, "", [], id="fork"),
    ],
)
def test_gitlab_comments_once(
    tmp_path: Path, notes: list[object], token: str, expected: list[str]
) -> None:
    """A note of the token's own user with the marker is edited; without a token nothing is sent."""
    origin = new_checkout(tmp_path / "origin", STORY)
    origin.git("checkout", "--quiet", "-b", "topic")
    head = origin.commit(WORKLOAD)
    origin.git("clone", "--quiet", str(origin.folder), str(tmp_path / "clone"))
    answer = f"json.dumps({notes!r} if 'notes?' in sys.argv[-1] else {{'id': 9}})"
    fake(tmp_path / "tools", "curl", answer)
    _, plan, comment, _ = GITLAB["plan"]["script"]
    variables = {
        "CI_API_V4_URL": "https://gitlab.example.org/api/v4",
        "CI_COMMIT_SHA": head,
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "RECONCILER_TOKEN": token,
    }

    run_script(tmp_path / "clone", tmp_path / "tools", plan, **variables)
    calls = run_script(tmp_path / "clone", tmp_path / "tools", comment, **variables)

    assert (tmp_path / "clone/plan.md").read_text().startswith(f"{MARKER}\n### Plan: 1 new")
    if not expected:
        assert [] == calls
        return
    sent = calls[-1]
    assert 3 == len(calls)
    assert expected[0] == sent[sent.index("--request") + 1]
    assert sent[-1].endswith(f"/projects/1/merge_requests/7{expected[1]}")
    assert "body@plan.md" in sent


def test_no_pipeline_is_read_as_a_manifest() -> None:
    """Names that begin with a dot are not ours to read."""
    parents = [path.relative_to(EXAMPLE_FOLDER).parts for path in EXAMPLE_FOLDER.rglob("*.y*ml")]
    hidden = {"/".join(parts) for parts in parents if any(p.startswith(".") for p in parts)}

    assert {".github/workflows/reconciler.yaml", ".gitlab-ci.yml"} == hidden


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
