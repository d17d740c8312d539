"""A process that is killed at one of its file operations, or with one of its git commands.

File operations are numbered by replacing functions of the standard library in the child only; the
product knows nothing of it.
"""

import builtins
import gc
import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

BY_PATH = ("mkdir", "rmdir", "unlink", "remove", "rename", "replace", "link", "chmod")
BY_DESCRIPTOR = ("fsync", "ftruncate", "utime", "write", "pwrite")
IN_PARTS = ("write", "pwrite")
CHANGING = os.O_CREAT | os.O_TRUNC


class FileOperations:
    """Counts the file operations below a folder, and dies at one of them."""

    def __init__(
        self,
        root: Path,
        control: Path,
        *,
        number: int,
        within: bool = False,
        die: Callable[[], None] | None = None,
    ) -> None:
        """Die before operation `number`, or in the middle of it; `die` may end otherwise."""
        self._root = f"{root}/"
        self._log = os.open(control / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._number = number
        self._within = within
        self._die = die or _die
        self._count = 0
        self._write = os.write

    def install(self) -> None:
        """Replace the functions of this process for good."""
        for name in BY_PATH:
            setattr(os, name, self._by_path(name, getattr(os, name)))
        for name in BY_DESCRIPTOR:
            setattr(os, name, self._by_descriptor(name, getattr(os, name)))
        real_sync, real_open, real_io_open = os.sync, os.open, builtins.open

        def sync() -> None:
            self._step("sync", "/")
            real_sync()

        def open_descriptor(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            if flags & CHANGING and self._is_here(path):
                self._step("open", os.fspath(path))
            return real_open(path, flags, *rest, **named)

        def open_file(path: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
            writes = isinstance(path, str | os.PathLike) and set(mode) & set("wax+")
            if not writes or not self._is_here(path):
                return real_io_open(path, mode, *rest, **named)
            self._step("open", os.fspath(path))
            opened = real_io_open(path, mode, *rest, **named)
            self._step("fill", os.fspath(path))  # it is there, and holds nothing yet
            return opened

        os.sync, os.open = sync, open_descriptor
        builtins.open = io.open = open_file  # type: ignore[assignment]

    def _by_path(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operate(path: Any, *rest: Any, **named: Any) -> Any:
            place = self._resolved(path, named.get("dir_fd"))
            if place.startswith(self._root):
                target = f"\t{os.fspath(rest[0])}" if name in ("rename", "replace", "link") else ""
                self._step(name, f"{place}{target}")
            return real(path, *rest, **named)

        return operate

    def _by_descriptor(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operate(descriptor: Any, *rest: Any, **named: Any) -> Any:
            place = self._place(descriptor)
            here = place.startswith(self._root)
            if here and self._step(name, place, partial=name in IN_PARTS):
                data, *at = rest
                real(descriptor, data[: len(data) // 2], *at)
                _die()
            return real(descriptor, *rest, **named)

        return operate

    def _place(self, descriptor: Any) -> str:
        if not isinstance(descriptor, int):
            return str(os.fspath(descriptor))
        try:
            return str(Path(f"/proc/self/fd/{descriptor}").readlink())
        except OSError:
            return ""

    def _resolved(self, path: Any, folder: int | None) -> str:
        """Return a path from the top, also where it is relative to an open folder."""
        place = path if isinstance(path, str) else os.fspath(path)
        return f"{self._place(folder)}/{place}" if folder is not None else str(place)

    def _is_here(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self._root)

    def _step(self, name: str, place: str, *, partial: bool = False) -> bool:
        """Record an operation; die before it if it is the one, or say that it is to be cut."""
        self._count += 1
        if self._count == self._number:
            if self._within and partial:
                return True
            self._die()
        self._write(self._log, f"file {self._count} {name} {place}\n".encode())
        return False


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("killed")


def run_victim(
    root: Path, control: Path, act: Callable[[], object], *, number: int = 0, within: bool = False
) -> int:
    """Run `act` in a child in which git is the stand-in, and return how it ended.

    Args:
        root: Operations below it count.
        control: Folder of the stand-in.
        act: What the child does.
        number: File operation to die at, 0 for none.
        within: Whether a write is cut in half.

    Returns:
        Exit code, negative for a signal.
    """
    child = os.fork()
    if child == 0:
        gc.freeze()  # what tests left is no garbage of the child: its finalizers may import
        code = 1
        try:
            (control / "victim").write_text(f"{os.getpid()}\n")
            os.environ["PATH"] = f"{control / 'bin'}:{os.environ['PATH']}"
            FileOperations(root, control, number=number, within=within).install()
            act()
            code = 0
        except BaseException as error:  # noqa: BLE001  # nothing of the parent may run here
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
