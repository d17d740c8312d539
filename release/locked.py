"""Reads deploy/requirements.txt: what runs beside us, with the digests that pip checks."""

import re
from dataclasses import dataclass

PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+?))? \\")
DIGEST = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, order=True)
class Pin:
    """A distribution of the lock file.

    `marker` is `""` if it is for every Python. `digests` are SHA-256 in hex, a file each, sorted.
    """

    name: str
    version: str
    marker: str
    digests: tuple[str, ...]


def read_pins(text: str) -> tuple[Pin, ...]:
    """Return what a lock file pins, sorted.

    Raises:
        ValueError: A distribution stands there without a version or without a digest.
    """
    pins = []
    for block in re.split(r"\n(?=[a-z0-9])", text.strip()):
        found, digests = PIN.match(block), DIGEST.findall(block)
        if found is None or not digests:
            raise ValueError(f"{block.splitlines()[0]!r} must have a version and digests")
        marker = (found["marker"] or "").strip()
        pins.append(Pin(found["name"], found["version"], marker, tuple(sorted(digests))))
    return tuple(sorted(pins))
