"""What a command finds around it: resources of the package, the root folder, the clock.

This is the only file that finds what ships with the package (code, schemas, the example
repository), that looks for the root (the folder that a command is about when none is named), and
that reads the clock of the day.
"""

import contextlib
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reconciler.errors import ShellError, UsageError
from reconciler.manifests.paths import RECORD
from reconciler.manifests.schemas.nodes import Json
from reconciler.manifests.schemas.schema import Schemas
from reconciler.model.identity import RepositoryLayout
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.shell.processes.limits import sync_places
from reconciler.shell.processes.signals import held_signals

if TYPE_CHECKING:
    from reconciler.manifests.schemas.kubernetes import KubernetesKinds

PACKAGE = Path(__file__).resolve().parent.parent

STAGING, FILES, WHOLE = ".reconciler-init", "files", "whole"
"""The folder in which new files are before they have their places, and what is in it."""

READERS = ("jsonschema_rs", "yaml", "yaml._yaml")
"""Modules of others that read manifests; each is rewritten where its version is another."""


def _find(name: str) -> Path:
    """Return a folder of the installed package, or of the checkout that the package is run from."""
    installed = PACKAGE / "data" / name
    if installed.is_dir():
        return installed
    checkout = PACKAGE.parent / name
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


@lru_cache(maxsize=2)
def load_kubernetes(version: str = "") -> "KubernetesKinds | None":
    """Return what a version of Kubernetes serves.

    Args:
        version: Such as `1.31`, `v1.31` or `1.31.4`; `""` is the newest that is known. `none` is
            no version, of which nothing is returned.

    Raises:
        UsageError: The version is none that is known.
    """
    if version == "none":
        return None
    from reconciler.manifests.schemas.kubernetes import KubernetesKinds  # noqa: PLC0415  # for checks only

    shipped: Json = json.loads((_find("schemas") / "kubernetes.json").read_bytes())
    known = shipped["versions"]
    asked = ".".join(version.removeprefix("v").split(".")[:2]) or known[-1]
    if asked not in known:
        raise UsageError(
            f"--kubernetes-version must be none, or one from {known[0]} to {known[-1]}"
        )
    return KubernetesKinds.of(shipped, asked)


def build_id() -> str:
    """Return what stands for the code that reads manifests: its files, and what it is built on."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  # takes 10 ms

    digest = hashlib.sha256(f"{sys.version}\n{package_digest()}\n".encode())
    for name in ("jsonschema-rs", "PyYAML"):
        with contextlib.suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}\n".encode())
    return digest.hexdigest()


def build_stamp() -> str:
    """Return what stands for the same code on this machine, told without reading it.

    Whoever writes a file anew, or puts another one in its place, leaves another time of change and
    another inode, which nobody sets by hand.
    """
    digest = hashlib.sha256(f"{sys.version}\n".encode())
    for place in (PACKAGE, _find("schemas")):
        for path, stat in _stats(place):
            digest.update(f"{path} {stat}\n".encode(errors="surrogateescape"))
    for name in READERS:
        spec = find_spec(name)
        origin = None if spec is None else spec.origin
        stat = "" if origin is None else _stat(Path(origin).stat())
        digest.update(f"{name} {origin} {stat}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _stats(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what the system says of the code and the schemas of a folder, in the order of paths."""
    left = [str(folder)]
    for place in left:
        with os.scandir(place) as listed:
            for entry in sorted(listed, key=attrgetter("name")):
                if entry.name.endswith((".py", ".json")):
                    yield entry.path, _stat(entry.stat())
                elif entry.name not in ("data", "__pycache__") and entry.is_dir():
                    left.append(entry.path)


def _stat(found: os.stat_result) -> str:
    """Return what differs where a file was written."""
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


@lru_cache(maxsize=1)
def package_digest() -> str:
    """Return a digest of the code and the schemas; where it is equal, answers are."""
    digest = hashlib.sha256()
    for place in (PACKAGE, _find("schemas")):
        for path, file in _files(place):
            if path.endswith((".py", ".json")):
                content = file.read_bytes()
                digest.update(f"{path} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def example_files() -> dict[str, bytes]:
    """Return the example repository: relative path to content."""
    return {path: file.read_bytes() for path, file in _files(_find("example-repo"))}


def _files(folder: Path, path: str = "") -> Iterator[tuple[str, Path]]:
    """Yield every file of a folder, sorted, but for what ships with the code in it."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not entry.is_dir():
            yield f"{path}{entry.name}", entry
        elif entry.name != "data":
            yield from _files(entry, f"{path}{entry.name}/")


def write_example(folder: Path) -> None:
    """Write the example repository into a folder, which is made if absent: all of it, or nothing.

    Raises:
        FileExistsError: A file of it is there.
    """
    write_new_files(folder, example_files())


def write_new_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files that are not there into a folder, which is made if absent: all, or nothing.

    A half that stays would be taken for the whole. So they are written into a folder of their own
    within it, for good, and put into their places from there; whoever is killed meanwhile leaves
    that folder, by which `finish_new_files` knows.

    Args:
        folder: Where they go.
        contents: Relative path to content.

    Raises:
        FileExistsError: One of them is there after all; it stays as it is.
    """
    made: list[Path] = []
    if not contents:
        return
    with held_signals():
        try:
            _make_folder(folder, made)
            _stage(folder / STAGING, contents)
            for path in contents:
                _make_folder((folder / path).parent, made)
                _put_new(folder / STAGING / FILES / path, folder / path, made)
        except BaseException:
            shutil.rmtree(folder / STAGING, ignore_errors=True)
            for path_made in reversed(made):
                path_made.rmdir() if path_made.is_dir() else path_made.unlink(missing_ok=True)
            raise
        _end_staging(folder, made)


def finish_new_files(folder: Path) -> list[str]:
    """Go on where somebody was killed who wrote new files into a folder; return which these are.

    What stands at a place by now stays. Where not all was written yet nothing was begun: what there
    is goes.
    """
    staging = folder / STAGING
    if staging.is_symlink() or not staging.is_dir():
        return []
    with held_signals():
        if not (staging / WHOLE).is_file():
            shutil.rmtree(staging)
            return []
        paths = sorted(
            path.relative_to(staging / FILES).as_posix()
            for path in (staging / FILES).rglob("*")
            if path.is_file()
        )
        free = [path for path in paths if not _is_taken(folder, path)]
        made: list[Path] = []
        for path in free:
            _make_folder((folder / path).parent, made)
            _put_new(staging / FILES / path, folder / path, made)
        _end_staging(folder, made)
    return paths


def _stage(staging: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder of their own; it says that they are whole once they are."""
    shutil.rmtree(staging, ignore_errors=True)
    for path, content in contents.items():
        place = staging / FILES / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    sync_places([staging / FILES / path for path in contents])
    (staging / WHOLE).write_bytes(b"")
    sync_places([staging / WHOLE])


def _put_new(source: Path, path: Path, made: list[Path]) -> None:
    """Give a file its place if nothing is there; it is in `made` before, so none is forgotten."""
    made.append(path)
    try:
        os.link(source, path)
    except FileExistsError:
        made.remove(path)
        raise
    except OSError:  # a file system without second names
        if os.path.lexists(path):
            made.remove(path)
            raise FileExistsError(path) from None
        source.rename(path)


def _end_staging(folder: Path, made: list[Path]) -> None:
    sync_places(made)
    (folder / STAGING / WHOLE).unlink()
    shutil.rmtree(folder / STAGING)


def _make_folder(folder: Path, made: list[Path]) -> None:
    """Make a folder and those above it; add to `made` what was not there before."""
    if not folder.is_dir():
        if os.path.lexists(folder):
            raise NotADirectoryError(f'"{folder}" is no folder')
        _make_folder(folder.parent, made)
        folder.mkdir()
        made.append(folder)


def taken(folder: Path, paths: Iterable[str]) -> list[str]:
    """Return the paths of a folder at which no new file can be written.

    Something is there, or a file or a link stands where one of its folders would be: what is
    written through a link lands elsewhere.
    """
    return [path for path in paths if _is_taken(folder, path)]


def _is_taken(folder: Path, path: str) -> bool:
    above = [folder / parent for parent in Path(path).parents if parent.parts]
    stray = any(one.is_symlink() or (one.exists() and not one.is_dir()) for one in above)
    return stray or os.path.lexists(folder / path)


RECORD_KIND = f"kind: {RECORD.kind}".encode()
PEEKED_BYTES = 4096  # our own records say their kind in the second line


def find_root(start: Path, layout: RepositoryLayout) -> Path:
    """Return the nearest folder upwards that is ours, else the top of git's checkout.

    Ours is a folder that holds a `reconciler.yaml` of a person, or outputs; not one of a name that
    begins with a dot, in which no manifest is read. What lies above the checkout is never looked
    at. Without git and without a mark it is `start` itself.

    Args:
        start: Where a person stands.
        layout: Where outputs are in the root that is looked for.
    """
    here = start.resolve()
    above = (here, *here.parents)
    top = next((folder for folder in above if is_top(folder) or is_bare(folder)), None)
    for folder in above if top is None else above[: above.index(top)]:
        hidden = top is not None and "/." in f"/{folder.relative_to(top).as_posix()}"
        if not hidden and _is_marked(folder, layout):
            return start if folder == here else folder
    return start if top in (None, here) else top


def is_top(folder: Path) -> bool:
    """Return whether a folder is the top of a checkout, linked worktrees included."""
    return (folder / ".git").exists()


def is_bare(folder: Path) -> bool:
    """Return whether a folder is a repository without files of its own."""
    return all((folder / part).exists() for part in ("HEAD", "objects", "refs"))


def _is_marked(folder: Path, layout: RepositoryLayout) -> bool:
    """Return whether a folder holds a configuration or outputs.

    The record among the outputs has the configuration's name, so the output root itself would
    look like a root.
    """
    configuration = folder / CONFIGURATION_PATH
    if configuration.is_file() and not _is_record(configuration):
        return True
    return (folder / layout.output_root / f"{RECORD.name}.yaml").is_file()


def _is_record(file: Path) -> bool:
    """Return whether a file is what a pass wrote of itself."""
    with file.open("rb") as stream:
        return RECORD_KIND in stream.read(PEEKED_BYTES).splitlines()


class Clock(Protocol):
    """Where `now` comes from; tests set theirs by hand."""

    def now(self) -> datetime:
        """Return the present moment: aware UTC, whole seconds."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the present moment, cut to the second, as Kubernetes times are."""
        return datetime.now(UTC).replace(microsecond=0)
