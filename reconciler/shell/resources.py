"""The only file that finds what ships beside the code: schemas and the example repository."""

import json
from collections.abc import Mapping
from functools import lru_cache
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


def example_files() -> dict[str, bytes]:
    """Return the files of the example repository by path."""
    found: dict[str, bytes] = {}

    def walk(folder: Traversable, prefix: str) -> None:
        for entry in folder.iterdir():
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            else:
                found[f"{prefix}{entry.name}"] = entry.read_bytes()

    walk(_find("example-repo"), "")
    return dict(sorted(found.items()))
