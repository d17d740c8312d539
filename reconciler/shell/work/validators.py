"""Inspects files: here, or where there are very many with the help of other processes."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.manifests.text.raw import Oversized
from reconciler.model.records import dataclass, field

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

PIECE = 100  # files; a hundredth of a second, so that no helper waits for long
ENOUGH = 2500  # ours: files that are inspected while a process starts

File = tuple[str, str, bytes | Oversized]
"""Path, blob id, and the content or its size."""


@dataclass(slots=True)
class Helper:
    """A process that inspects; `files` is what it is at work on, `ready` whether it has started."""

    connection: "Connection"
    ready: bool = False
    files: Sequence[File] = ()


@dataclass(slots=True)
class FileValidators:
    """Who inspects: this process, and helpers where there are any.

    Attributes:
        rules: What documents are held against, by name.
        helpers: Those that are alive.
    """

    rules: Mapping[str, Rules]
    helpers: list[Helper] = field(default_factory=list)

    def validate(self, files: Iterable[File], total: int, name: str) -> Iterator[FileValidation]:
        """Inspect files; helpers get the smaller shares the less there is left.

        Args:
            files: What was read.
            total: How many there are.
            name: Of the rules.

        Yields:
            The inspection of each file, in no particular order.
        """
        files = iter(files)
        left = total
        while True:
            for helper in tuple(self.helpers):
                yield from self._gather(helper, name, wait=False)
                if helper.ready and not helper.files:
                    share = left // (2 * len(self.helpers) + 1)
                    helper.files = tuple(islice(files, share)) if share >= PIECE else ()
                    left -= len(helper.files)
                    yield from self._give(helper, name)
            piece = tuple(islice(files, PIECE))
            if not piece:
                break
            left -= len(piece)
            yield from self._here(piece, name)
        for helper in tuple(self.helpers):
            yield from self._gather(helper, name, wait=True)

    def _here(self, files: Iterable[File], name: str) -> Iterator[FileValidation]:
        rules = self.rules[name]
        return (validate_file(*file, rules) for file in files)

    def _give(self, helper: Helper, name: str) -> Iterator[FileValidation]:
        """Hand a helper its files; if it is gone, inspect them here."""
        try:
            if helper.files:
                helper.connection.send((name, helper.files))
        except OSError:
            yield from self._lose(helper, name)

    def _gather(self, helper: Helper, name: str, *, wait: bool) -> Iterator[FileValidation]:
        """Take what a helper has found; its first word is that it has started."""
        try:
            if not (wait and helper.files) and not helper.connection.poll():
                return
            validations: list[FileValidation] = helper.connection.recv()
            if not helper.ready:
                helper.connection.send(self.rules)
        except (EOFError, OSError):
            yield from self._lose(helper, name)
            return
        helper.ready, helper.files = True, ()
        yield from validations

    def _lose(self, helper: Helper, name: str) -> Iterator[FileValidation]:
        """Go on without a helper that was killed."""
        self.helpers.remove(helper)
        yield from self._here(helper.files, name)


@contextlib.contextmanager
def file_validators(
    rules: Mapping[str, Rules], total: int, *, processes: int, enough: int = ENOUGH
) -> Iterator[FileValidators]:
    """Call up who inspects; helpers are there until the block ends.

    Args:
        rules: What documents are held against, by name.
        total: How many files there are about.
        processes: How many processes may work at it, this one included.
        enough: How many files each of them must have.
    """
    count = min(processes, total // enough) - 1
    with contextlib.ExitStack() as stack:
        connections: Sequence[Connection] = ()
        if count > 0:
            # Late: pools of processes take as long to import as a question of one object.
            from reconciler.shell.work.executors import start_helpers  # noqa: PLC0415

            connections = stack.enter_context(start_helpers(count, _help))
        yield FileValidators(rules, [Helper(connection) for connection in connections])


def _help(connection: "Connection") -> None:
    """Inspect what is sent, in a process of its own, until the sender is gone."""
    connection.send([])
    rules: Mapping[str, Rules] = connection.recv()
    name: str
    files: Sequence[File]
    while True:
        name, files = connection.recv()
        connection.send([validate_file(*file, rules[name]) for file in files])
