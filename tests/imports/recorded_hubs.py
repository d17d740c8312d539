"""What real control planes held: exports, and a repository of what was applied to one of them."""

import gzip
import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from reconciler.model.body import Body
from tests.shell.fleet import ROOT
from tests.shell.repositories import git

HUBS = ROOT / "fixtures/hubs"


@cache
def recorded(name: str) -> Sequence[Body]:
    """Return the objects of a recording."""
    items: Sequence[Body] = json.loads(gzip.decompress((HUBS / f"{name}.json.gz").read_bytes()))[
        "items"
    ]
    return items


class AppliedFleet:
    """The repository of what was applied to the Karmada hub, step by step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        bundle = str(HUBS / "karmada.bundle")
        command = ["git", "clone", "--quiet", "--bare", "--branch", "story", bundle, str(folder)]
        subprocess.run(command, check=True, capture_output=True)

    def after(self, step: str) -> Mapping[str, str]:
        """Return the files as the pass after a step has left them."""
        subjects = git(self.folder, "log", "--format=%H %s", "story").splitlines()
        [at] = [i for i, line in enumerate(subjects) if line.partition(" ")[2] == step]
        revision = subjects[at - 1].partition(" ")[0]
        names = git(self.folder, "ls-tree", "-r", "--name-only", revision).splitlines()
        told = subprocess.run(
            ["git", "cat-file", "--batch"],
            cwd=self.folder,
            input="".join(f"{revision}:{name}\n" for name in names).encode(),
            check=True,
            capture_output=True,
        ).stdout
        files, begin = {}, 0
        for name in names:
            text = told.index(b"\n", begin) + 1
            size = int(told[begin:text].split()[2])
            files[name] = told[text : text + size].decode()
            begin = text + size + 1
        return files
