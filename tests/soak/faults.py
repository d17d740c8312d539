"""What goes wrong with a remote: it fails, refuses, stalls, and is rewritten."""

import random
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.shell.repositories import ENVIRONMENT, git

HOOK = """\
#!/bin/sh
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  test -e "$GIT_DIR/stall" || break
  sleep 0.1
done
if test -e "$GIT_DIR/refuse"; then echo "the soak refuses this"; exit 1; fi
"""
KINDS = ("fails", "refuses", "stalls", "is rewritten")
LASTS = (0.1, 1.0)
BETWEEN = (0.5, 4.0)


@dataclass(kw_only=True)
class RemoteFaults:
    """The faults of one remote, one at a time.

    Attributes:
        remote: Its folder.
        choice: Where chance comes from.
        counts: How often there was each of them.
    """

    remote: Path
    choice: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    _present: str = ""
    _due_at: float = 0.0

    def __post_init__(self) -> None:
        """Give the remote the hook that refuses and stalls."""
        place = self.remote / "hooks/pre-receive"
        place.parent.mkdir(exist_ok=True)
        place.write_text(HOOK)
        place.chmod(0o755)

    def go_on(self) -> float:
        """Begin or end a fault if its time has come, and return when to come again."""
        now = time.monotonic()
        if now < self._due_at:
            return self._due_at
        if self._present:
            self.mend()
            self._due_at = now + self.choice.uniform(*BETWEEN)
        else:
            self._begin(self.choice.choice(KINDS))
            self._due_at = now + self.choice.uniform(*LASTS)
        return self._due_at

    def mend(self) -> None:
        """Leave nothing wrong."""
        for name in ("stall", "refuse"):
            (self.remote / name).unlink(missing_ok=True)
        if (self.remote / "HEAD.away").exists():
            (self.remote / "HEAD.away").rename(self.remote / "HEAD")
        self._present = ""

    def _begin(self, kind: str) -> None:
        self._present = kind
        match kind:
            case "fails":
                (self.remote / "HEAD").rename(self.remote / "HEAD.away")
            case "refuses":
                (self.remote / "refuse").touch()
            case "stalls":
                (self.remote / "stall").touch()
            case _ if not self._rewrite():
                return
        self.counts[kind] += 1

    def _rewrite(self) -> bool:
        """Take the last decision away, as a person does who pushes with force."""
        head = git(self.remote, "rev-parse", "refs/heads/main")
        told = git(self.remote, "log", "-1", "--format=%(trailers:key=Reconciled-At)%P", head)
        if "Reconciled-At" not in told:
            return False
        moved = subprocess.run(
            ["git", "update-ref", "refs/heads/main", f"{head}~1", head],
            cwd=self.remote,
            env=ENVIRONMENT,
            capture_output=True,
            check=False,
        )
        return moved.returncode == 0
