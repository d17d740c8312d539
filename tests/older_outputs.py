"""Outputs as passes by rules 1 wrote them a minute after the first one: assumptions included."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "fixtures/history/rules-1"


def older_outputs(name: str) -> dict[str, str]:
    """Return the files of one dialect that passes write otherwise by now, by path."""
    folder = FOLDER / name
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.yaml"))
    }
