"""Where manifests to be checked come from: a folder, or a commit."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from reconciler.core.inputs.document_rules import Rules
from reconciler.core.inputs.file_validation import validate_file
from reconciler.core.inputs.input_files import InputFiles, input_files
from reconciler.core.inputs.input_index import index_inputs
from reconciler.core.inputs.last_known_good import LastKnownGood
from reconciler.core.inputs.world_composition import configuration_of
from reconciler.core.state import read_state
from reconciler.manifests.file_names import is_manifest_name
from reconciler.manifests.paths import DELIVERY, output_path
from reconciler.manifests.text.limits import Oversized
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.settings import CONFIGURATION_PATH, Settings, decode_settings


@dataclass(frozen=True, slots=True)
class FoundManifests:
    """The files to check, and the symbolic links that are skipped; both sorted.

    Paths are relative to the root, those of files outside of it absolute; both as they are shown.
    `allowed` are the settings of the root's configuration with which manifests may say more.
    """

    files: tuple[str, ...]
    links: tuple[str, ...] = ()
    allowed: frozenset[str] = frozenset()


class ManifestSource(Protocol):
    """Answers which files there are, and what they hold."""

    @property
    def layout(self) -> RepositoryLayout:
        """Where passes write: nothing of it is to be checked."""

    def is_root(self, path: Path, /) -> bool:
        """Return whether a path is the root itself."""

    def is_file(self, path: Path, /) -> bool:
        """Return whether a path names one file."""

    def find(self, paths: Sequence[Path], *, rules: Rules, forced: bool = True) -> FoundManifests:
        """Return the files to check.

        Args:
            paths: Files, folders and globs asked for; none means the root. `-` is standard input.
            rules: What the configuration is held against.
            forced: Whether a file that is named is checked whatever its name; if not, only one
                that a folder would have led to.

        Raises:
            UsageError: A path is not there, or cannot be read.
        """

    def contents(self, paths: Sequence[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield files with their content, or their size if they are too large.

        Raises:
            UsageError: One cannot be read.
        """

    def records(self, kind: str, /) -> list[str]:
        """Return the files that hold one kind's status, sorted.

        Args:
            kind: `<plural>.<group>`, as the folder is named; `""` for all.
        """


def skipped_as(link: str) -> str:
    """Return which file a link may stand for: itself, or one in the folder that it leads to.

    >>> skipped_as("clusters/member1.yaml"), skipped_as("clusters")
    ('clusters/member1.yaml', 'clusters/any.yaml')
    """
    return link if is_manifest_name(link) else f"{link}/any.yaml"


def chosen_by(
    read: Callable[[str], Iterable[bytes | Oversized]], layout: RepositoryLayout, rules: Rules
) -> tuple[InputFiles, Settings]:
    """Return which files are input, and the configuration.

    Both are told by the configuration and the record of delivery as written. A faulty one counts
    as absent; that of a person is reported where it is read.

    Args:
        read: Returns the content of a file by its path; nothing if there is none.
        layout: Where passes write.
        rules: What the configuration is held against.

    Raises:
        UsageError: One cannot be read.
    """
    configuration, record = CONFIGURATION_PATH, output_path(layout.output_root, DELIVERY)
    of_outputs = replace(rules, admissions={}, status_only=True)
    inputs = [validate_file(configuration, "", found, rules) for found in read(configuration)]
    outputs = [validate_file(record, "", found, of_outputs) for found in read(record)]
    found = configuration_of(index_inputs(inputs, rules.known), LastKnownGood())
    recorded = read_state(outputs, layout.output_root, rules.known).manifests
    settings = decode_settings(found)
    return input_files(settings, layout, recorded), settings
