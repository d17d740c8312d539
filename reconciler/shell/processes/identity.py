"""Which process did something, and whether it is gone: by host, boot, pid namespace and start."""

import contextlib
import os
import platform
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from reconciler.model.records import dataclass, field_names

PROC = Path("/proc")
MACHINE_ID = Path("/etc/machine-id")
BOOT_ID = PROC / "sys/kernel/random/boot_id"
START_FIELD = 19  # of /proc/PID/stat after the name, which may hold spaces; proc(5) `starttime`
DEAD = frozenset("ZXx")  # proc(5) `state`: killed, and not yet waited for


class Fate(StrEnum):
    """What became of a process."""

    GONE = "gone"
    ALIVE = "alive"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """A process, told apart from every other one.

    Attributes:
        pid: In its own namespace; the same numbers come again after a restart.
        start: Moment of its start in clock ticks since the boot; `""` where there is no /proc.
        pid_namespace: As the kernel names it; `""` where there is none.
        host: Name of the machine, and its machine id where it has one.
        boot: Random id that the kernel chose when it started; `""` where there is none.
    """

    pid: int
    start: str
    pid_namespace: str
    host: str
    boot: str

    def as_fields(self) -> dict[str, object]:
        """Return it as a mapping, for a file."""
        return {name: getattr(self, name) for name in field_names(self)}


def this_process() -> ProcessIdentity:
    """Return the identity of this process."""
    pid = os.getpid()
    namespace = ""
    with contextlib.suppress(OSError):
        namespace = str((PROC / "self/ns/pid").readlink())
    return ProcessIdentity(
        pid=pid,
        start=_start(pid),
        pid_namespace=namespace,
        host=" ".join(filter(None, (platform.node(), _line(MACHINE_ID)))),
        boot=_line(BOOT_ID),
    )


def decode_process(fields: Mapping[str, object]) -> ProcessIdentity:
    """Return what `as_fields` wrote.

    Raises:
        ValueError: It wrote something else.
    """
    pid = fields.get("pid")
    texts = {name: fields.get(name) for name in ("start", "pid_namespace", "host", "boot")}
    named = {name: text for name, text in texts.items() if isinstance(text, str)}
    if not isinstance(pid, int) or len(named) != len(texts):
        raise ValueError("not the identity of a process")
    return ProcessIdentity(
        pid=pid,
        start=named["start"],
        pid_namespace=named["pid_namespace"],
        host=named["host"],
        boot=named["boot"],
    )


def fate_of(owner: ProcessIdentity, me: ProcessIdentity) -> Fate:
    """Return what became of a process that held a file lock with its children.

    The caller holds that lock (flock) now. Under one kernel this proves that the owner and its
    children let go of it, in whatever pid namespace they were. A pid proves something only inside
    of one namespace, and the same pid nothing: after a restart it is often the same.

    Args:
        owner: Who held the lock.
        me: Who holds it now.
    """
    if is_of_another_boot(owner, me):
        return Fate.GONE
    if owner.boot and me.boot and owner.boot != me.boot:
        return Fate.UNKNOWN
    if not (owner.boot and me.boot) and owner.host != me.host:
        return Fate.UNKNOWN
    if _is_near(owner, me) and owner.pid != me.pid and not is_dead(owner, me):
        return Fate.ALIVE
    return Fate.GONE


def is_of_another_boot(owner: ProcessIdentity, me: ProcessIdentity) -> bool:
    """Return whether a process surely ran before the machine was started the last time.

    Where the kernel tells no boot from another, nothing is sure.
    """
    comparable = bool(owner.boot and me.boot) and owner.host == me.host
    return comparable and owner.boot != me.boot


def is_dead(owner: ProcessIdentity, me: ProcessIdentity) -> bool:
    """Return whether a process has surely ended, though its git commands may go on without it.

    This process itself is in no step when it asks, so it counts as ended.
    """
    return _is_near(owner, me) and (owner.pid == me.pid or _start(owner.pid) != owner.start)


def _is_near(owner: ProcessIdentity, me: ProcessIdentity) -> bool:
    """Return whether a pid means the same process for both."""
    comparable = bool(me.boot and me.pid_namespace and owner.start)
    return comparable and (owner.boot, owner.pid_namespace) == (me.boot, me.pid_namespace)


def _start(pid: int) -> str:
    """Return when a process started, `""` if it does not run."""
    try:
        fields = (PROC / f"{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in DEAD else fields[START_FIELD]


def _line(place: Path) -> str:
    try:
        return place.read_text(errors="replace").strip()
    except OSError:
        return ""
