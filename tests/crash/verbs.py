"""What is asked to end at every step: the verbs that write, as processes of their own."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from reconciler.model.moments import format_moment
from tests.crash.scenarios import MIRROR, PERSON, REMOTE, SCENARIOS, Scenario
from tests.shell.fleet import ROOT
from tests.shell.repositories import NOW

EXPORT = ROOT / "fixtures/exports/karmada.json"


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A command that writes, and the place where it does.

    Attributes:
        name: For people.
        scenario: The place, which passes follow on afterwards.
        arguments: Of the command, by the place.
        branch: The branch that it makes, `""` if it makes none.
        edits: Whether it writes into the person's checkout, uncommitted.
    """

    name: str
    scenario: Scenario
    arguments: Callable[[Path], list[str]]
    branch: str = ""
    edits: bool = False


LOCAL, AFAR = (
    next(one for one in SCENARIOS if one.name == f"pass, {where}") for where in ("local", "remote")
)
MOMENT = format_moment(NOW + timedelta(seconds=LOCAL.seconds))


def _in_checkout(*arguments: str) -> Callable[[Path], list[str]]:
    return lambda root: ["-C", str(root / PERSON), *arguments]


def _from_remote(root: Path) -> list[str]:
    served = ("--remote", f"file://{root / REMOTE}", "--mirror", str(root / MIRROR))
    return ["reconcile", *served, "--branch", "main", "--now", MOMENT]


VERBS: tuple[Verb, ...] = (
    Verb(
        name="reconcile",
        scenario=LOCAL,
        arguments=_in_checkout("reconcile", "--now", MOMENT),
    ),
    Verb(name="reconcile, remote", scenario=AFAR, arguments=_from_remote),
    Verb(
        name="import",
        scenario=LOCAL,
        arguments=_in_checkout("import", str(EXPORT)),
        edits=True,
    ),
    Verb(
        name="rebalance",
        scenario=LOCAL,
        arguments=_in_checkout("rebalance", "deployment/web", "--branch", "made"),
        branch="made",
    ),
    Verb(
        name="suspend",
        scenario=LOCAL,
        arguments=_in_checkout("suspend", "deployment/web", "--branch", "made"),
        branch="made",
    ),
)
