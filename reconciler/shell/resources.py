"""The only file that finds what ships beside the code: schemas and the example repository."""

import contextlib
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from reconciler.errors import ShellError
from reconciler.manifests.schema import Schemas


def _find(name: str) -> Traversable:
    """Return a folder of the installed package, or of the checkout that the package is run from."""
    installed = files("reconciler") / "data" / name
    if installed.is_dir():
        return installed
    checkout = Path(__file__).resolve().parent.parent.parent / name
    if checkout.is_dir():
        return checkout
    raise ShellError(f'the folder "{name}" of this installation is missing; install it again')


@lru_cache(maxsize=1)
def load_schemas() -> Schemas:
    """Return the schemas of this build."""
    documents: dict[str, Mapping[str, object]] = {}
    for group in _find("schemas").iterdir():
        if group.is_dir():
            for file in group.iterdir():
                if file.name.endswith(".json"):
                    documents[f"{group.name}/{file.name}"] = json.loads(file.read_bytes())
    return Schemas(documents)


def build_id() -> str:
    """Return what stands for the code that reads manifests: its files, and what it is built on."""
    digest = hashlib.sha256(sys.version.encode())
    for name in ("jsonschema-rs", "ruamel.yaml", "ruamel.yaml.clib"):
        with contextlib.suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}\n".encode())
    for folder in (files("reconciler"), _find("schemas")):
        for file in _files(folder):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _files(folder: Traversable) -> Iterator[Traversable]:
    """Yield the sources and schemas in a folder, in the order of their names."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry)
        elif entry.name.endswith((".py", ".json")):
            yield entry


def write_example(folder: Path) -> None:
    """Write the example repository into a folder, which is made if absent."""
    _copy(_find("example-repo"), folder)


def _copy(source: Traversable, target: Path) -> None:
    """Copy a folder with everything in it."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.is_dir():
            _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())
