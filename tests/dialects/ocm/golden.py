"""Golden stories: `before/`, a pass at the moment of `case.yaml`, `after/`.

`python -m tests.dialects.ocm.golden` writes each `after/` anew; the difference is reviewed as code.
"""

from pathlib import Path

from reconciler.manifests.reader import read
from reconciler.model.moments import parse_moment
from reconciler.model.world import Body
from tests.dialects.ocm.worlds import run

FOLDER = Path(__file__).parents[3] / "fixtures/ocm"
OUTPUTS = "status/"
RECORD = "status/reconciler.yaml"  # names the version, which no story is about


def cases() -> list[Path]:
    """The folder of every story, sorted."""
    return sorted(path.parent for path in FOLDER.glob("*/case.yaml"))


def files_in(folder: Path) -> dict[str, str]:
    """Path to text of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.yaml"))
    }


def documents_of(path: str, text: str) -> list[Body]:
    """The documents of a file."""
    return [document.body for document in read(text.encode(), path).documents]


def play(case: Path) -> dict[str, str]:
    """The files below the output root after the pass."""
    before = files_in(case / "before")
    [told] = documents_of("case.yaml", (case / "case.yaml").read_text(encoding="utf-8"))
    inputs = [
        document
        for path, text in before.items()
        if not path.startswith(OUTPUTS)
        for document in documents_of(path, text)
    ]
    outputs = {path: text for path, text in before.items() if path.startswith(OUTPUTS)}
    after, _ = run(inputs, outputs, parse_moment(str(told["now"])))
    after.pop(RECORD, None)
    return after


def write() -> None:
    """Write every `after/` anew."""
    for case in cases():
        for path in (case / "after").rglob("*.yaml"):
            path.unlink()
        for name, text in play(case).items():
            path = case / "after" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
