"""The only file that looks for the root: the folder that a command is about when none is named."""

from pathlib import Path

from reconciler.manifests.paths import RECORD
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.settings import CONFIGURATION_PATH

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
