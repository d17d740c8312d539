"""Which files of a root are input: the configuration, and what people write in no folder of ours.

Passes, `validate`, `suspend`, the library and every other reader ask here, so that what one of them
takes for a manifest no other one takes for an output.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from reconciler.delivery.destinations import roots_of
from reconciler.delivery.record import recorded
from reconciler.manifests.selection import selected, selects
from reconciler.model.identity import ObjectKey
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.settings import CONFIGURATION_PATH, Settings, settings_in
from reconciler.model.world import Manifest, World


@dataclass(frozen=True, slots=True)
class InputFiles:
    """Chooses the files that people write.

    Attributes:
        ours: Folders that passes write to, each with a slash at its end: the output root, and those
            that are delivered to.
        include: Globs of the configuration.
        exclude: Globs of the configuration.
    """

    ours: tuple[str, ...]
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __call__(self, path: str) -> bool:
        """Return whether a file is input, by its root-relative path as it is shown."""
        if path == CONFIGURATION_PATH:
            return True
        return not path.startswith(self.ours) and selects(
            path, include=self.include, exclude=self.exclude
        )

    def among(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield those of many files that are input."""
        theirs = [path for path in paths if not path.startswith(self.ours)]
        if CONFIGURATION_PATH in theirs:
            theirs.remove(CONFIGURATION_PATH)
            yield CONFIGURATION_PATH
        yield from selected(theirs, include=self.include, exclude=self.exclude)


def input_files(
    settings: Settings, layout: RepositoryLayout, outputs: Mapping[ObjectKey, Manifest]
) -> InputFiles:
    """Return which files are input.

    Args:
        settings: Those of the configuration in force.
        layout: Where passes write.
        outputs: What stands in it; the record of delivery says where was delivered to.
    """
    return _outside(layout.output_root, settings, outputs)


def inputs_in(world: World) -> InputFiles:
    """Return which files are input in a world."""
    return _outside(world.output_root, settings_in(world), world.outputs)


def _outside(folder: str, settings: Settings, outputs: Mapping[ObjectKey, Manifest]) -> InputFiles:
    """Return which files are input beside a folder of outputs and what these say of delivery."""
    folders = (folder, *filter(None, roots_of(recorded(outputs))))
    ours = tuple(f"{folder}/" for folder in folders)
    return InputFiles(ours, settings.include, settings.exclude)
