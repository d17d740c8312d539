"""Build a release, twice, and keep it only if both have the same bytes: `python -m release`."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from reconciler import __version__
from release.locked import read_pins
from release.sbom import DISTRIBUTION, bill_of_materials

ROOT = Path(__file__).parent.parent
SUMS = "SHA256SUMS"
SURROUNDINGS = ({"TZ": "UTC", "LC_ALL": "C"}, {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"})
UMASKS = (0o022, 0o077)
"""What differs between the two builds."""


def main(folder: Path) -> int:
    """Build into a folder; return 1 if two builds differ."""
    seconds = commit_seconds(ROOT)
    with tempfile.TemporaryDirectory() as name:
        builds = [Path(name) / str(i) for i in range(2)]
        for i, build in enumerate(builds):
            build_release(ROOT, build, seconds=seconds, attempt=i)
        first, second = ((build / SUMS).read_text() for build in builds)
        if first != second:
            print(f"two builds differ:\n{first}\n{second}", file=sys.stderr)
            return 1
        shutil.copytree(builds[0], folder, dirs_exist_ok=True)
    print(f"{first}the same bytes twice, in {folder}")
    return 0


def commit_seconds(root: Path) -> int:
    """Return the moment of the commit that is released, in seconds since 1970."""
    asked = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    return int(subprocess.run(asked, capture_output=True, check=True, text=True).stdout)


def build_release(root: Path, folder: Path, *, seconds: int, attempt: int = 0) -> None:
    """Write wheel, sdist, bill of materials and checksums of a source tree into a folder.

    Args:
        root: The source tree.
        folder: Made if absent.
        seconds: SOURCE_DATE_EPOCH.
        attempt: 0 or 1: in which surroundings.
    """
    folder.mkdir(parents=True)
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(root)],
        env={**os.environ, **SURROUNDINGS[attempt], "SOURCE_DATE_EPOCH": str(seconds)},
        umask=UMASKS[attempt],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    pins = read_pins((root / "deploy/requirements.txt").read_text(encoding="utf-8"))
    built_at = datetime.fromtimestamp(seconds, UTC)
    bill = bill_of_materials(__version__, pins, built_at=built_at)
    (folder / f"{DISTRIBUTION.replace('-', '_')}-{__version__}.cdx.json").write_text(
        bill, encoding="utf-8"
    )
    files = sorted(path for path in folder.iterdir() if path.suffix != ".gitignore")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"))
