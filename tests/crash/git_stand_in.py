"""A `git` for the PATH of a process that is to be killed: it counts commands, and kills at one.

bin/git    the stand-in          git      path of the real one
count      commands so far       plan     number and phase of the command to kill at, and how
victim     process to kill       log      a line for each command and file operation
trace.N    system calls of command N, where they are wanted

By another signal than KILL the process alone is asked to end, once or twice, or its group: git too.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CALLS = (
    "openat,write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,"
    "rmdir,fsync,fdatasync,ftruncate,symlink,symlinkat,chmod,fchmod,fchmodat,utimensat"
)
CHANGING_FLAGS = ("O_CREAT", "O_TRUNC")

SCRIPT = r"""#!/bin/bash
control=@control@
read -r count < "$control/count"
count=$((count + 1))
echo "$count" > "$control/count"
read -r victim < "$control/victim"
read -r number phase call ordinal tracing signal target < "$control/plan"
read -r real < "$control/git"
echo "git $count $*" >> "$control/log"
die() {
    kill "-$signal" "$victim"
    if [ "$signal" != KILL ]; then
        trap - "$signal"
        kill "-$signal" $$
    fi
    case " $* " in
    *" push "*) kill -KILL $$ ;;  # the server goes on
    *) kill -KILL 0 ;;
    esac
}
follow=-f
case " $* " in *" push "*) follow= ;; esac
trace=(strace $follow -qq -y -s 0 -o "$control/trace.$count" -e "trace=@calls@" -e signal=none)
if [ "$count" != "$number" ]; then
    if [ "$tracing" = traced ]; then exec "${trace[@]}" "$real" "$@"; fi
    exec "$real" "$@"
fi
if [ "$target" = process ] || [ "$target" = twice ]; then
    if [ "$phase" = before ] || [ "$target" = twice ]; then kill "-$signal" "$victim"; fi
    if [ "$phase" = before ] && [ "$target" = process ]; then exec "$real" "$@"; fi
    "$real" "$@"
    code=$?
    kill "-$signal" "$victim"
    exit "$code"
fi
case "$phase" in
before) die "$@" ;;
within) "${trace[@]}" -e "inject=$call:signal=$signal:when=$ordinal" "$real" "$@" ;;
after)
    if [ "$tracing" = traced ]; then "${trace[@]}" "$real" "$@"; else "$real" "$@"; fi ;;
esac
die "$@"
"""

TRACED = re.compile(r"^(?P<pid>\d+)?\s*(?P<call>\w+)\((?P<rest>.*)$")
OUTPUTS = re.compile(r"^(?:[012]|\d+<(?:pipe|socket|/dev/(?!shm/)|anon_inode)[^>]*>?)")


@dataclass(frozen=True)
class TracedCall:
    """A system call of a git command that changes files, and the how many-th of its name it is."""

    pid: str
    name: str
    ordinal: int
    rest: str


def have_strace() -> bool:
    """Return whether git can be killed between two of its system calls."""
    if shutil.which("strace") is None:
        return False
    tried = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False)
    return tried.returncode == 0


def install(control: Path, *, real: str) -> None:
    """Write the stand-in into a folder."""
    (control / "bin").mkdir(parents=True)
    script = control / "bin/git"
    script.write_text(SCRIPT.replace("@control@", str(control)).replace("@calls@", CALLS))
    script.chmod(0o755)
    (control / "git").write_text(f"{real}\n")


def traced_calls(trace: Path) -> Iterator[TracedCall]:
    """Yield the calls of one command that change files, in order; others are only counted."""
    counts: dict[tuple[str, str], int] = {}
    for line in trace.read_text(errors="replace").splitlines():
        found = TRACED.match(line)
        if found is None or "resumed>" in line:
            continue
        pid, name, rest = found["pid"] or "", found["call"], found["rest"]
        counts[pid, name] = counts.get((pid, name), 0) + 1
        if name == "openat" and not any(flag in rest for flag in CHANGING_FLAGS):
            continue
        if name in ("write", "pwrite64", "fsync") and OUTPUTS.match(rest):
            continue
        yield TracedCall(pid, name, counts[pid, name], rest)
