"""What views of the page cost in calls, by a process that has read the branch before."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from reconciler.cli.page.answers import PageAnswers, Query
from reconciler.cli.page.views import FEW_PLACED, new_memory
from reconciler.library.fleet import open_repository
from reconciler.model.records import replace

WORKLOAD = {"group": "apps", "kind": "Deployment", "namespace": "default", "name": "web-00004"}
VIEWS: dict[str, tuple[str, Query]] = {
    "first view after a pass": ("fleet", {}),
    "a cluster": ("cluster", {"name": "member-00001"}),
    "objects": ("objects", {}),
    "an object": ("object", WORKLOAD),
    "an object, why and its history": ("object", {**WORKLOAD, "full": "1"}),
    "matrix": ("matrix", {}),
    "timeline": ("timeline", {}),
}


def page_calls(
    folder: Path, run_pass: Callable[[], object], calls_of: Callable[[Callable[[], object]], int]
) -> Iterator[tuple[str, int]]:
    """Yield what each view takes that is asked for after a pass, all of them asked for before it.

    Args:
        folder: A repository with the branch `main`.
        run_pass: Has a pass commit something to it.
        calls_of: Counts the calls of something.
    """
    repository = open_repository(folder)
    memory = replace(new_memory(repository.revisions, FEW_PLACED), few=0)  # as of many objects
    answers = PageAnswers(repository, "main", memory)
    for view, query in (("load", {}), *VIEWS.values()):
        answers.answer(view, query, _head(answers))
    while answers.read_on():
        pass
    run_pass()
    head = _head(answers)
    for name, (view, query) in VIEWS.items():
        yield f"page, {name}", calls_of(partial(answers.answer, view, query, head))


def _head(answers: PageAnswers) -> str:
    return answers.fleet.repository.resolve("main")
