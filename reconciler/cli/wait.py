"""The wait of `wait`: looks at the branch whenever it moves, until all that is asked for holds.

`--for` names a condition, a value at a path, creation or deletion.

Source: kubectl pkg/cmd/wait/wait.go `conditionFuncFor`, condition.go `checkCondition`, json.go
`isJSONPathConditionMet`.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.cli.get import say_what_is_missing
from reconciler.cli.kinds import asked_kinds
from reconciler.cli.kinds import kinds_present as present_kinds
from reconciler.cli.selection import NamedOrChosen, matching, named_key
from reconciler.cli.tables import shown_body, typed_name
from reconciler.cli.world import fleet_of, keep_settled, note_if_empty, settled_world
from reconciler.core.asked import passes_since
from reconciler.core.changes import Outcome
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.record import next_moment
from reconciler.errors import UsageError, UserError
from reconciler.library.fleet import FleetRepository
from reconciler.manifests.json_path import check_path, find_path, spelled_value
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.health import ASSUMED
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.records import dataclass, field
from reconciler.model.text import printable, shown
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.resources import SystemClock

FORMS = "condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete"
CREATE, DELETE = "create", "delete"
CONDITION, JSONPATH = "condition=", "jsonpath="
TRUE = "true"


@dataclass(frozen=True, slots=True)
class AwaitedCondition:
    """A condition of some type that is to have some status; letters of either case count alike."""

    name: str
    status: str = TRUE

    def __str__(self) -> str:
        return f"condition {self.name}={self.status}"

    def holds(self, body: Body | None) -> bool:
        """Return whether an object has it; one that is about an older generation does not count."""
        found = self._found(body)
        if body is None or found is None:
            return False
        is_so = str(found.get("status")).casefold() == self.status
        return is_so and _is_of_generation(body, found)

    def is_assumed(self, body: Body | None) -> bool:
        """Return whether nobody reports it: it is taken to be so, since time went by."""
        found = self._found(body)
        return found is not None and ASSUMED in str(found.get("reason"))

    def _found(self, body: Body | None) -> Body | None:
        conditions = [] if body is None else mappings_of(at(body, "status").get("conditions"))
        wanted = self.name.casefold()
        return next((one for one in conditions if str(one.get("type")).casefold() == wanted), None)


@dataclass(frozen=True, slots=True)
class AwaitedValue:
    """A value at a path; `value` of `None` is any."""

    path: str
    value: str | None

    def __str__(self) -> str:
        return self.path if self.value is None else f"{self.path} to be {self.value}"

    def holds(self, body: Body | None) -> bool:
        """Return whether it stands there.

        Raises:
            UserError: Several values stand there, or one that is no text, number or boolean.
        """
        found = () if body is None else find_path(body, self.path)
        if self.value is None:
            return bool(found)
        if len(found) > 1:
            raise UserError(f"{self.path} leads to {len(found)} values; it must lead to one")
        if found and isinstance(found[0], Mapping | list):
            raise UserError(f"{self.path} leads to no single value but to what holds several")
        return bool(found) and spelled_value(found[0]) == self.value


@dataclass(frozen=True, slots=True)
class AwaitedPresence:
    """That an object is there, or is not."""

    there: bool

    def __str__(self) -> str:
        return CREATE if self.there else DELETE

    def holds(self, body: Body | None) -> bool:
        """Return whether it is so."""
        return (body is not None) is self.there


AwaitedState = AwaitedCondition | AwaitedValue | AwaitedPresence


def parse_awaited(text: str) -> AwaitedState:
    """Return what `--for` asks for.

    Raises:
        ValueError: It is none of `FORMS`; the message says what is wrong.

    >>> parse_awaited("condition=Ready=False")
    AwaitedCondition(name='Ready', status='false')
    >>> parse_awaited("jsonpath={.spec.replicas}=3")
    AwaitedValue(path='{.spec.replicas}', value='3')
    """
    if text in (CREATE, DELETE):
        return AwaitedPresence(there=text == CREATE)
    if text.startswith(CONDITION):
        name, has_status, status = text.removeprefix(CONDITION).partition("=")
        if name and (status or not has_status):
            return AwaitedCondition(name, status.casefold() if has_status else TRUE)
    if text.startswith(JSONPATH):
        return _value(text.removeprefix(JSONPATH))
    raise ValueError(f"{shown(text)} must be {FORMS}")


def _value(text: str) -> AwaitedValue:
    """Return the path, which may hold `=` in its braces, and the value behind it."""
    if text.startswith("{"):
        end = text.rfind("}") + 1
        path, rest = text[:end], text[end:]
        if rest and not rest.startswith("="):
            raise ValueError(f"{shown(rest)} behind the path must be =VALUE")
        has_value, value = bool(rest), rest[1:]
    else:
        path, equals, value = text.partition("=")
        has_value = bool(equals)
    if has_value and not value:
        raise ValueError("a value must follow the = behind the path")
    check_path(path)
    return AwaitedValue(path, value.strip("'\"") if has_value else None)


def _is_of_generation(body: Body, condition: Body) -> bool:
    """Return whether a condition is about the present generation, as far as it says."""
    generation = at(body, "metadata").get("generation")
    observed = condition.get("observedGeneration", at(body, "status").get("observedGeneration"))
    if not isinstance(generation, int) or not isinstance(observed, int):
        return True
    return observed >= generation


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
        raise UsageError("--for=create needs objects by name, such as rb/shop")
    repository = Repository.open(directory)
    name = branch or repository.head_branch()
    fleet = fleet_of(directory, repository, layout)
    loader = fleet.revisions.loader
    end = time.monotonic() + timeout_seconds
    sources = loader.sources_of(repository.resolve(name))
    world = loader.load(sources[0])
    note_if_empty(directory, world)
    keys = _awaited_keys(world, selection, awaited)
    if keys is None:
        return 1
    wait = _Wait(awaited, keys, output, fleet)
    if wait.is_over(world, sources[0]):
        return 0

    from reconciler.shell.daemon.watch import Wakeups  # the daemon's; nothing had to be waited for

    with Wakeups(repository.common_dir, poll_seconds=poll_seconds) as wakeups:
        while True:  # the first time for a commit that came before watching began
            present = loader.sources_of(repository.resolve(name))
            if present != sources:
                sources, world = present, loader.load(present[0])
            if wait.is_over(world, sources[0]):
                return 0
            seconds = end - time.monotonic()
            if seconds <= 0 or not wakeups.wait(seconds):
                return wait.give_up()


def _awaited_keys(
    world: World, selection: NamedOrChosen, awaited: AwaitedState
) -> list[ObjectKey] | None:
    """Return the objects that are waited for, `None` if one that has to be there is not."""
    asked = asked_kinds(world.known, present_kinds(world), selection.words)
    if isinstance(awaited, AwaitedPresence) and selection.is_named:
        return [named_key(world, one, selection.namespace) for one in asked]
    matches = matching(world, asked, selection)
    keys = list(dict.fromkeys(key for listed in matches.values() for key in listed))
    if isinstance(awaited, AwaitedPresence) or not say_what_is_missing(world, matches, selection):
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
    fleet: FleetRepository
    _memo: Memo = field(default_factory=Memo)

    def is_over(self, world: World, head: str) -> bool:
        """Tell of those that are as they are to be by now, and return whether these are all.

        Args:
            world: As it is.
            head: Full hex id of its commit.

        Raises:
            UsageError: What is waited for cannot be told of an object.
        """
        now = SystemClock().now()
        shown = as_of(world, now)
        held = [key for key in self.left if self._holds(shown, key)]
        if held and not isinstance(self.awaited, AwaitedPresence):
            held = list(self._settled(world, head, held))
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

    def _settled(self, world: World, head: str, keys: Iterable[ObjectKey]) -> Iterable[ObjectKey]:
        """Return the objects that the pass which is due leaves as they are.

        What stands in their files is what the last pass saw; a commit that came since may mean
        something else, and counts once a pass has seen it.
        """
        changed = {change.path for change in self._due(world, head).changes}
        return (
            key
            for key in keys
            if key not in world.outputs or world.outputs[key].origin.path not in changed
        )

    def _due(self, world: World, head: str) -> Outcome:
        """Return the pass that is due, over what may move since nothing did if that is known."""
        now, settled = next_moment(world, SystemClock().now()), settled_world(self.fleet)
        if settled is not None and settled.is_still(world, now):
            return Outcome()
        passes = None if settled is None else passes_since(settled, now, world)
        if passes is not None:
            return passes[0][0][1]
        due = reconcile(world, now, memo=self._memo)
        keep_settled(self.fleet, world, head, now, self._memo)
        return due
