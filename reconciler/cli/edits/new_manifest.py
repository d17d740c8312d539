"""A manifest that a person asks for: what it is written for, where it goes, how it is printed."""

from pathlib import Path

import click

from reconciler.audit.previews.as_json import preview_json
from reconciler.audit.previews.preview import Preview
from reconciler.audit.previews.wording import Heading
from reconciler.cli.edits.delivery import Delivery
from reconciler.cli.objects.world import note_if_empty, open_loader
from reconciler.cli.printing.preview import print_preview
from reconciler.cli.printing.print_json import print_json
from reconciler.core.inputs.input_files import inputs_in
from reconciler.errors import UsageError
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.revisions import resolve_revision


def open_base(
    directory: Path, base: str, branch: str | None, author: str | None, layout: RepositoryLayout
) -> tuple[Delivery, World]:
    """Load the world that a manifest is written for, and return where it goes."""
    repository = Repository.open(directory)
    head = resolve_revision(repository, base)
    loader = open_loader(repository, layout)
    delivery = Delivery(
        directory=directory, repository=repository, base=head, branch=branch, author=author
    )
    world = loader.load(head)
    note_if_empty(directory, world)
    return delivery, world


def check_read(world: World, path: str) -> None:
    """Refuse to write a file that no pass would read.

    Raises:
        UsageError: None would.
    """
    if not inputs_in(world)(path):
        raise UsageError(
            f'"{path}" would not be read, since include and exclude in reconciler.yaml leave it '
            "out, or it is in a folder that passes write to; print the manifest with -o yaml "
            "--dry-run and put it where it is read"
        )


def print_manifest(output: str, body: Body, path: str, preview: Preview, base: str) -> None:
    """Print a manifest, and what it would move."""
    heading = Heading("plan", f"{path} merged into {base}")
    if output == "json":
        plan = preview_json(preview, heading)
        print_json({"path": path, "manifest": body, "plan": plan})
        return
    click.echo(encode(body), nl=False)
    if output == "text":
        click.echo()
        print_preview(preview, heading, "text")
