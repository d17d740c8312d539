"""Reads all files of a commit with git, and parses them: the least that a first call can do.

A script of its own, run in the repository.
"""

import subprocess

from reconciler.manifests.text.canonical import read_canonical
from reconciler.manifests.text.reader import read
from reconciler.model.identity import OUTPUT_ROOT


def main() -> None:
    """Read and parse; nothing is kept."""
    listed = _git("ls-tree", "-r", "HEAD").decode().splitlines()
    names = "".join(f"{line.split()[2]}\n" for line in listed)
    told, at = _git("cat-file", "--batch", given=names.encode()), 0
    for line in listed:
        begin = told.index(b"\n", at) + 1
        at = begin + int(told[at:begin].split()[2]) + 1
        path, data = line.split("\t")[1], told[begin : at - 1]
        if not path.startswith(f"{OUTPUT_ROOT}/") or read_canonical(data) is None:
            read(data, path)


def _git(*arguments: str, given: bytes = b"") -> bytes:
    command = ["git", *arguments]
    return subprocess.run(command, input=given, check=True, capture_output=True).stdout


if __name__ == "__main__":
    main()
