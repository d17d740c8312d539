"""What stands below the output root and is left as it is, until a person restores or removes it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frozen:
    """Places where nothing is written and nothing deleted.

    Attributes:
        paths: Files that cannot be read.
        blocks: What has taken a place of ours and is no plain file or folder as it must be: links,
            submodules, a file instead of a folder and the reverse. Nothing below them is ours.

    >>> frozen = Frozen(frozenset({"status/a.yaml"}), frozenset({"status/b"}))
    >>> "status/a.yaml" in frozen, "status/b/c.yaml" in frozen, "status/bc.yaml" in frozen
    (True, True, False)
    """

    paths: frozenset[str] = frozenset()
    blocks: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.paths or self.blocks)

    def __contains__(self, path: str) -> bool:
        return path in self.paths or any(is_at_or_below(path, block) for block in self.blocks)

    def may_hold(self, stem: str) -> bool:
        """Return whether a path that begins with a stem may be frozen by what blocks the way."""
        return any(is_at_or_below(stem, block) or block.startswith(stem) for block in self.blocks)


def is_at_or_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or leads below it."""
    return path == folder or path.startswith(f"{folder}/")
