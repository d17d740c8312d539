"""Nothing is installed by its bare name, which on a registry may be somebody else's."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_ci_templates import scripts
from tests.shell.fleet import ROOT

SHOWN = ("README.md", "docs", "deploy", "example-repo", "reconciler", "Makefile", ".ci")
INSTALLS = re.compile(r"(?:pip|pipx|uv tool|uv pip)\s+install\b(?P<what>[^`\n|;&]*)")
WITH_VALUE = {"--requirement", "-r", "--only-binary"}
BARE = re.compile(r"""["']?reconciler""")
WHEEL = "https://example.org/reconciler-1.0-py3-none-any.whl#sha256=" + "0" * 64


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
    "wanted", ["", "reconciler", "reconciler==1.0", WHEEL.partition("#")[0], "http" + WHEEL[5:]]
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
