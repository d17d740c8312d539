"""Golden sequences: `fixtures/<dialect>/<story>/<step>/{before/,after/,case.yaml,commit.txt}`.

`before/` is the whole repository when the pass begins, `after/` the output root when it has ended,
`commit.txt` what the daemon commits (absent where it commits nothing). `case.yaml` tells the story
and the moment. The output root that a step begins with is the one the step before ended with.

`python -m tests.golden` writes what follows from the rest anew; the difference is reviewed as code.
"""

import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from reconciler.core.changes import Outcome
from reconciler.core.message import commit_message
from reconciler.core.reconcile import reconcile
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.moments import parse_moment
from reconciler.model.world import World
from tests.stories import Story, applied

FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORD = "status/reconciler.yaml"  # names the version and a revision, which no story is about


def stories() -> list[Path]:
    """The folder of every story, sorted."""
    return sorted({path.parents[1] for path in FIXTURES.glob("*/*/*/case.yaml")})


def steps(story: Path) -> list[Path]:
    """The folders of a story's steps, in order."""
    return sorted(path.parent for path in story.glob("*/case.yaml"))


def case_of(step: Path) -> Body:
    """What `case.yaml` tells."""
    data = (step / "case.yaml").read_bytes()
    [document] = read(data, "case.yaml").documents
    return document.body


def files_in(folder: Path) -> dict[str, str]:
    """Path to text of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def outputs_of(files: Mapping[str, str]) -> dict[str, str]:
    """The files below the output root that a story is about."""
    return {
        path: data for path, data in files.items() if path.startswith("status/") and path != RECORD
    }


def play(story: Path) -> Iterator[tuple[Path, dict[str, str], str]]:
    """Each step, its files below the output root after the pass, and its commit message."""
    told = Story()
    for step in steps(story):
        record = {path: told.files[path] for path in [RECORD] if path in told.files}
        told.files = files_in(step / "before") | record
        told.now = parse_moment(str(case_of(step)["now"]))
        world = told.world()
        outcome = reconcile(world, told.now)
        told.files = applied(told.files, outcome)
        yield step, outputs_of(told.files), _message(outcome, world, told.now)


def _message(outcome: Outcome, world: World, now: datetime) -> str:
    """The commit message without trailers, `""` where nothing is committed."""
    if not outcome.changes:
        return ""
    message = commit_message(outcome, world, now=now, version="0")
    return message.rpartition("\n\n")[0].rstrip("\n") + "\n"


def write() -> None:
    """Write every `after/` and `commit.txt` anew, and the output roots that steps begin with."""
    for story in stories():
        outputs: dict[str, str] | None = None
        for step in steps(story):
            if outputs is not None and not case_of(step).get("edited"):
                _replace(step / "before/status", outputs)
            [(after, message)] = [(a, m) for s, a, m in play(story) if s == step]
            _replace(step / "after/status", after)
            (step / "commit.txt").unlink(missing_ok=True)
            if message:
                (step / "commit.txt").write_text(message, encoding="utf-8")
            outputs = after


def _replace(folder: Path, files: Mapping[str, str]) -> None:
    """Make a folder hold exactly these files, whose paths begin with `status/`."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in files.items():
        path = folder.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()


FOLDER = Path(__file__).parents[1] / "fixtures/history/rules-1"


def older_outputs(name: str) -> dict[str, str]:
    """Return the files of one dialect that passes write otherwise by now, by path."""
    folder = FOLDER / name
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.yaml"))
    }
