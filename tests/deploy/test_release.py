"""A release: the same bytes whenever it is built, and a bill of materials that is one."""

import hashlib
import re
import tarfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from reconciler import __version__
from release.__main__ import SUMS, build_release
from release.locked import Pin, read_pins
from release.sbom import bill_of_materials
from tests.shell.fleet import ROOT

MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
LOCK = (ROOT / "deploy/requirements.txt").read_text(encoding="utf-8")


@pytest.mark.cpu_seconds(120)
def test_two_builds_have_the_same_bytes(tmp_path: Path) -> None:
    """In other surroundings, too; the checksums are those of the files."""
    for attempt in (0, 1):
        build_release(ROOT, tmp_path / str(attempt), seconds=1_795_000_000, attempt=attempt)
    first, second = ((tmp_path / str(attempt) / SUMS).read_text() for attempt in (0, 1))
    listed = {line[66:]: line[:64] for line in first.splitlines()}

    assert first == second
    assert {
        f"fleet_reconciler-{__version__}-py3-none-any.whl",
        f"fleet_reconciler-{__version__}.tar.gz",
        f"fleet_reconciler-{__version__}.cdx.json",
    } == listed.keys()
    for name, digest in listed.items():
        assert digest == hashlib.sha256((tmp_path / "0" / name).read_bytes()).hexdigest()
    with tarfile.open(tmp_path / "0" / f"fleet_reconciler-{__version__}.tar.gz") as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"reconciler/__init__.py", "deploy/requirements.txt", "release/sbom.py"} <= names


def test_the_bill_of_materials_is_one() -> None:
    """By CycloneDX's own schema; it names every pin, and says the same each time."""
    pins = read_pins(LOCK)
    bill = bill_of_materials("1.2.3", pins, built_at=MOMENT)

    assert None is JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill)
    assert all(f'"purl": "pkg:pypi/{pin.name}@{pin.version}"' in bill for pin in pins)
    assert bill == bill_of_materials("1.2.3", pins, built_at=MOMENT)
    assert '"timestamp": "2026-11-20T12:00:00+00:00"' in bill


def test_the_lock_has_every_dependency() -> None:
    """All that pyproject.toml asks for, with digests; `make lock` writes it anew."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {
        re.split(r"[><=]", one)[0].replace(".", "-").lower() for one in project["dependencies"]
    }

    assert set() == asked - {pin.name for pin in read_pins(LOCK)}


@pytest.mark.parametrize("line", ["httpx", "httpx>=0.27 \\", "httpx==0.28.1 \\\n    # via x"])
def test_a_pin_without_digest_is_refused(line: str) -> None:
    """Pip would take any file for it."""
    with pytest.raises(ValueError, match="must have a version and digests"):
        read_pins(line)


def test_a_pin_is_read() -> None:
    """With the Pythons that it is for."""
    digests = ["b" * 64, "a" * 64]
    text = f"numpy==2.4 ; python_version < '3' \\\n    --hash=sha256:{digests[0]} \\\n"
    text += f"    --hash=sha256:{digests[1]}\n    # via reconciler\n"

    assert (Pin("numpy", "2.4", "python_version < '3'", tuple(sorted(digests))),) == read_pins(text)
