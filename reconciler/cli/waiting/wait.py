"""The wait of `wait`: looks at the branch whenever it moves, until all that is asked for holds."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.audit.printable import printable
from reconciler.cli.objects.asked_kinds import asked_kinds, present_kinds
from reconciler.cli.objects.get_objects import say_what_is_missing
from reconciler.cli.objects.object_selection import NamedOrChosen, matching, named_key
from reconciler.cli.objects.object_tables import typed_name
from reconciler.cli.objects.shown_body import shown_body
from reconciler.cli.objects.world import fleet_of, note_if_empty
from reconciler.cli.waiting.awaited_state import AwaitedCondition, AwaitedPresence, AwaitedState
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.core.record import next_moment
from reconciler.errors import UsageError, UserError
from reconciler.model.identity import ObjectKey
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.clock import SystemClock
from reconciler.shell.daemon.watch import Wakeups
from reconciler.shell.git.repository import Repository

MET = "condition met"
UNREPORTED = ", as is assumed without a report"


def run(
    directory: Path,
    selection: NamedOrChosen,
    awaited: AwaitedState,
    *,
    timeout_seconds: float,
    output: str,
    branch: str | None,
    poll_seconds: float,
    layout: RepositoryLayout,
) -> int:
    """Wait until each object was seen as it is to be; return 0 then, 1 if that is not in time."""
    selection.check()
    if awaited == AwaitedPresence(there=True) and not selection.is_named:
        raise UsageError("--for=create waits for objects that are named, such as rb/shop")
    repository = Repository.open(directory)
    name = branch or repository.head_branch()
    loader = fleet_of(Path(), repository, layout).revisions.loader
    end = time.monotonic() + timeout_seconds
    # Watching begins before the first look, so that no commit is missed between them.
    with Wakeups(repository.common_dir, poll_seconds=poll_seconds) as wakeups:
        sources = loader.sources_of(repository.resolve(name))
        world = loader.load(sources[0])
        note_if_empty(directory, world)
        keys = _awaited_keys(world, selection, awaited)
        if keys is None:
            return 1
        wait = _Wait(awaited, keys, output)
        while not wait.is_over(world):
            left = end - time.monotonic()
            if left <= 0 or not wakeups.wait(left):
                return wait.give_up()
            present = loader.sources_of(repository.resolve(name))
            if present != sources:
                sources, world = present, loader.load(present[0])
    return 0


def _awaited_keys(
    world: World, selection: NamedOrChosen, awaited: AwaitedState
) -> list[ObjectKey] | None:
    """Return the objects that are waited for, `None` if one that has to be there is not."""
    asked = asked_kinds(world.known, present_kinds(world), selection.words)
    if isinstance(awaited, AwaitedPresence) and selection.is_named:
        return [named_key(world, one, selection.namespace) for one in asked]
    found = matching(world, asked, selection)
    keys = list(dict.fromkeys(key for listed in found.values() for key in listed))
    if isinstance(awaited, AwaitedPresence) or not say_what_is_missing(world, found, selection):
        gone = awaited == AwaitedPresence(there=False)
        return keys if keys or gone else None
    click.echo("--for=create waits until an object comes", err=True)
    return None


@dataclass(slots=True)
class _Wait:
    """The objects that were not yet seen as they are to be."""

    awaited: AwaitedState
    left: Sequence[ObjectKey]
    output: str
    _memo: Memo = field(default_factory=Memo)

    def is_over(self, world: World) -> bool:
        """Tell of those that are as they are to be by now, and return whether these are all.

        Raises:
            UsageError: What is waited for cannot be told of an object.
        """
        now = SystemClock().now()
        shown = as_of(world, now)
        held = [key for key in self.left if self._holds(shown, key)]
        if held and not isinstance(self.awaited, AwaitedPresence):
            held = list(self._settled(world, held))
        for key in held:
            said = "" if self.output == "name" else f" {MET}{self._assumed(shown, key)}"
            click.echo(f"{typed_name(key)}{said}")
        self.left = [key for key in self.left if key not in held]
        return not self.left

    def give_up(self) -> int:
        """Say what is not as it is to be; return the exit code."""
        for key in self.left:
            click.echo(
                f"timed out waiting for {printable(str(self.awaited))} on {typed_name(key)}",
                err=True,
            )
        return 1

    def _holds(self, world: World, key: ObjectKey) -> bool:
        there = key in world.inputs or key in world.outputs
        try:
            return self.awaited.holds(shown_body(world, key) if there else None)
        except UserError as error:
            raise UsageError(f"{typed_name(key)}: {error}") from None

    def _assumed(self, shown: World, key: ObjectKey) -> str:
        """Return that nobody reports what holds, `""` if somebody does."""
        body = shown_body(shown, key)
        assumed = isinstance(self.awaited, AwaitedCondition) and self.awaited.is_assumed(body)
        return UNREPORTED if assumed else ""

    def _settled(self, world: World, keys: Iterable[ObjectKey]) -> Iterable[ObjectKey]:
        """Return the objects that the pass which is due leaves as they are.

        What stands in their files is what the last pass saw; a commit that came since may mean
        something else, and counts once a pass has seen it.
        """
        due = reconcile(world, next_moment(world, SystemClock().now()), memo=self._memo)
        changed = {change.path for change in due.changes}
        return (
            key
            for key in keys
            if key not in world.outputs or world.outputs[key].origin.path not in changed
        )
