"""The process that answers the page: questions come in lines, answers go out in lines, as JSON.

It is started by the listener's process, which ends it when an answer takes too long. It bounds its
own memory before it reads anything.
"""

import json
import resource
import signal
import sys
from pathlib import Path

import click

from reconciler.cli.options import layout_options
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.processes.limits import collect_steadily
from reconciler.shell.processes.signals import lines_of


@click.command(name="page-worker")
@click.option("-C", "directory", type=click.Path(path_type=Path), required=True)
@click.option("--below", default="")
@click.option("--home", default="")
@click.option("--cache-dir")
@click.option("--branch", required=True)
@click.option("--whole", is_flag=True)
@click.option("--forge", type=(str, str))
@click.option("--memory-bytes", type=int, required=True)
@layout_options
@click.pass_context
def command(
    context: click.Context,
    *,
    directory: Path,
    below: str,
    home: str,
    cache_dir: str | None,
    branch: str,
    whole: bool,
    forge: tuple[str, str] | None,
    memory_bytes: int,
    layout: RepositoryLayout,
) -> int:
    """Answer questions until there are no more."""
    del context, cache_dir
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks ends this one
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    collect_steadily()
    from reconciler.cli.page.answers import PageAnswers
    from reconciler.cli.page.views import FEW_PLACED, new_memory
    from reconciler.cli.world import fleet_of
    from reconciler.dialects.object_pass import trace_of
    from reconciler.page.links import NO_FORGE, forge_links
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.reports.forges import open_forge

    repository = Repository.open(directory)
    if below:
        repository = repository.below(below)
    links = NO_FORGE
    if forge is not None:
        commits = open_forge(*forge, "", branch=branch).commits
        links = forge_links(
            forge[0], commits, branch, repository.prefix and f"{repository.prefix}/"
        )
    fleet = fleet_of(directory / below, repository, layout)
    answers = PageAnswers(
        fleet, branch, new_memory(fleet.revisions, None if whole else FEW_PLACED), home, links
    )

    def read_on() -> bool:
        try:
            return answers.read_on()
        except Exception as error:  # noqa: BLE001  # a past that cannot be read ends no view
            print(trace_of(error), file=sys.stderr)
            return False

    for line in lines_of(sys.stdin.fileno(), read_on):
        question = json.loads(line)
        try:
            answer = answers.answer(**question)
        except Exception as error:  # noqa: BLE001  # one view that fails ends no other
            print(trace_of(error), file=sys.stderr)
            answer = answers.mistake(question["view"], error)
        print(json.dumps(answer._asdict()), flush=True)
    return 0


if __name__ == "__main__":
    command()
