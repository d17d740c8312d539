"""Installing and adopting as the documents say, with the commands that they show."""

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reconciler.dialects.karmada.dialect import KARMADA
from reconciler.manifests.paths import plural_of
from reconciler.model.body import Body
from tests.cli.test_pipelines import scripts
from tests.imports.hubs import karmada_hub, kubefleet_hub, live, ocm_hub
from tests.imports.imported import deployment
from tests.pages.run import new_reader
from tests.shell.fleet import ROOT
from tests.shell.kubectl_stand_in import stand_in

SHOWN = ("README.md", "docs", "deploy", "example-repo", "reconciler", "Makefile", ".ci")
INSTALLS = re.compile(r"(?:pip|pipx|uv tool|uv pip)\s+install\b(?P<what>[^`\n|;&]*)")
WITH_VALUE = {"--requirement", "-r", "--only-binary"}
BARE = re.compile(r"""["']?(fleet-)?reconciler""")
WHEEL = "https://example.org/fleet_reconciler-1.0-py3-none-any.whl#sha256=" + "0" * 64


def installed() -> Iterator[tuple[str, str]]:
    """What documents, templates and messages install, with the place where that stands."""
    for name in SHOWN:
        top = ROOT / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            for found in INSTALLS.finditer(path.read_bytes().decode(errors="replace")):
                yield f"{path.relative_to(ROOT)}", found["what"]


def named(what: str) -> list[str]:
    """The packages among the words of a command."""
    words = iter(what.replace("\\", " ").split())
    return [word for word in words if not _is_option(word, words)]


def _is_option(word: str, words: Iterator[str]) -> bool:
    if word in WITH_VALUE:
        next(words, None)
    return word.startswith("-")


def test_no_document_or_template_installs_by_a_bare_name() -> None:
    """They install from sources, or from an address with a digest."""
    found = [(place, word) for place, what in installed() for word in named(what)]

    assert {"README.md", "docs/scale.md", "deploy/Dockerfile"} <= {place for place, _ in found}
    assert [] == [(place, word) for place, word in found if BARE.match(word)]


def installing() -> list[str]:
    """What the pipelines install with."""
    found = [script for script in scripts() if "pip install" in script]
    assert len(found) == 4
    return found


@pytest.mark.parametrize("script", installing())
@pytest.mark.parametrize(
    "wanted",
    ["", "reconciler", "fleet-reconciler==1.0", WHEEL.partition("#")[0], "http" + WHEEL[5:]],
)
def test_a_pipeline_stops_where_it_is_not_told_what_to_install(
    tmp_path: Path, script: str, wanted: str
) -> None:
    """With a sentence that says what to set; pip is not started."""
    done, calls = run(tmp_path, script, wanted)

    assert done.returncode == 1
    assert done.stderr.startswith("set RECONCILER in this file to the address of the wheel: https:")
    assert calls == []


@pytest.mark.parametrize("script", installing())
def test_a_pipeline_installs_the_wheel_of_a_digest(tmp_path: Path, script: str) -> None:
    """Pip compares the digest itself."""
    done, calls = run(tmp_path, script, WHEEL)

    assert done.returncode == 0, done.stderr
    assert [call.split()[-1] for call in calls] == [WHEEL]


def run(
    folder: Path, script: str, wanted: str
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a script with a pip that only notes what it is given."""
    calls = folder / "calls"
    calls.touch()
    pip = folder / "pip"
    pip.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    pip.chmod(0o755)
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        env={"PATH": f"{folder}:/usr/bin:/bin", "RECONCILER": wanted},
        capture_output=True,
        text=True,
        check=False,
    )
    return done, calls.read_text().splitlines()


PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
INSTALLING = PAGE.partition("## Installing\n")[2].partition("\n## ")[0]
HEAVY_BYTES = 3_000_000


def test_the_units_start_what_the_page_installs() -> None:
    """The last line of it makes the command that they name."""
    (block,) = re.findall(r"<!-- for all -->\n```sh\n(.*?)```", INSTALLING, re.DOTALL)
    linked = block.splitlines()[-1].split()[-1]
    units = [path.read_text() for path in (ROOT / "deploy").rglob("*.service")]

    assert 3 == len(units)
    assert {linked} == {
        word for unit in units for word in re.findall(r"^ExecStart=(\S+)", unit, re.MULTILINE)
    }


def needed(name: str) -> Iterator[str]:
    """What a distribution needs to run, with all that this needs."""
    yield name
    for line in distribution(name).requires or ():
        one = Requirement(line)
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            yield from needed(canonicalize_name(one.name))


def size_bytes(name: str) -> int:
    """What the files of a distribution take, without what Python compiles of them."""
    places = [Path(str(file.locate())) for file in distribution(name).files or ()]
    return sum(one.stat().st_size for one in places if one.suffix != ".pyc" and one.is_file())


def test_the_page_says_what_each_heavy_part_is_for() -> None:
    """Whoever adds one says there why it is worth it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {canonicalize_name(Requirement(one).name) for one in project["dependencies"]}
    parts = {part for name in asked for part in needed(name)}
    told = INSTALLING.lower().replace(".", "-")

    assert {"numpy", "jsonschema-rs"} <= {part for part in parts if size_bytes(part) > HEAVY_BYTES}
    assert [] == [one for one in sorted(parts) if size_bytes(one) > HEAVY_BYTES and one not in told]


def steps(folder: Path, target: str) -> list[str]:
    """The commands that `make` would run for a target, in a folder with this Makefile."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    os.utime(folder / "pyproject.toml", (1, 1))
    shown = subprocess.run(
        ["make", "--dry-run", target],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},  # nothing of the `make` that runs this test
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout.splitlines()


@pytest.mark.parametrize(
    ("target", "there", "expected"),
    [
        pytest.param("demo", [], ["."], id="demo"),
        pytest.param("demo", ["runtime"], [], id="demo-again"),
        pytest.param("demo", ["installed"], [], id="demo-beside-tests"),
        pytest.param("test", [], ["'.[dev]'"], id="test"),
        pytest.param("test", ["runtime"], ["'.[dev]'"], id="test-after-demo"),
        pytest.param("test", ["installed"], [], id="test-again"),
    ],
)
def test_make_installs_what_the_target_needs(
    tmp_path: Path, target: str, there: list[str], expected: list[str]
) -> None:
    """Once; it says so before anything is loaded, and hides nothing of what pip tells."""
    (tmp_path / ".venv").mkdir()
    for name in there:
        (tmp_path / ".venv" / name).touch()

    found = steps(tmp_path, target)
    pip = [line for line in found if "pip install" in line]

    assert expected == [line.split()[-1] for line in pip]
    assert [] == [line for line in pip if "--quiet" in line]
    assert bool(expected) == found[0].startswith("echo 'Installing into .venv")


START = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
NODE = live("v1", "Node", "n1", status={"allocatable": {"cpu": "16", "pods": "110"}})
HUBS: Mapping[str, list[Body]] = {
    "karmada-hub": karmada_hub(2),
    "ocm-hub": ocm_hub(2),
    "fleet-hub": kubefleet_hub(2),
    "host": [
        deployment("karmada-system/karmada-controller-manager", 2),
        deployment("karmada-system/karmada-scheduler", 2),
    ],
    "member1": [NODE],
}


def test_the_page_asks_a_hub_for_all_that_it_decides_by() -> None:
    """In the line for kubectl, whose answer is read from a file."""
    page = (ROOT / "docs/adopt.md").read_text(encoding="utf-8")
    asked = re.search(r"get -A -o json \\\n +(\S+) > hub.json\nreconciler import hub.json", page)

    assert asked is not None
    kinds = KARMADA.importer().kinds.keys() | KARMADA.placed
    assert {plural_of(kind) for _, kind in kinds} - set(asked[1].split(",")) == set()


@pytest.mark.cpu_seconds(120)
def test_the_page_shows_what_commands_print(tmp_path: Path) -> None:
    """From its first line to its last."""
    reader = new_reader(tmp_path, START)
    for context, bodies in HUBS.items():
        stand_in(reader.tools, bodies, context=context)
    page = (ROOT / "docs/adopt.md").read_text(encoding="utf-8")

    assert "" == "\n".join(reader.follow(page))
