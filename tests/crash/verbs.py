"""What is asked to end at every step: the verbs that write, as processes of their own.

Beside these `run` writes, by the very pass of `reconcile` (how a daemon ends is in
tests/shell/daemon/test_run.py); `observe`, which goes on until it is ended
(tests/soak/observed.py); `demo` in a scratch folder, by all of them; `report` and `schema` files
that are none of a repository's; and caches, which can be made again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from reconciler.manifests.admission import SUSPEND
from reconciler.model.fields import mapping
from reconciler.model.moments import format_moment
from reconciler.model.records import replace
from tests.builders import deployment, path_of, text
from tests.core.test_staged_deliveries import staged_delivery, version
from tests.crash.scenarios import MIRROR, OUTPUTS, PERSON, REMOTE, SCENARIOS, Scenario
from tests.dialects.kubefleet.fleet import stage, strategy
from tests.shell.fleet import ROOT
from tests.shell.repositories import NOW

EXPORT = ROOT / "fixtures/exports/karmada.json"
MADE, NEW = "made", "new"
AUTHOR = ("--author", "Ada <ada@example.com>")


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A command that writes, and the place where it does.

    Attributes:
        name: For people.
        scenario: The place, which passes follow on afterwards.
        arguments: Of the command, by the place.
        branch: The branch that it makes or moves, `""` if none that passes do not move, too.
        folder: Below the place, where it writes files that nothing commits, `""` if nowhere.
        repeatable: Whether it succeeds once more where it was done, and changes nothing.
    """

    name: str
    scenario: Scenario
    arguments: Callable[[Path], list[str]]
    branch: str = ""
    folder: str = ""
    repeatable: bool = False

    @property
    def edits(self) -> bool:
        """Whether it writes into the person's checkout, uncommitted."""
        return self.folder == PERSON


LOCAL, AFAR, TWO_BRANCHES, TWO_BRANCHES_AFAR = (
    next(one for one in SCENARIOS if one.name == f"{what}, {where}")
    for what in ("pass", "outputs")
    for where in ("local", "remote")
)
MOMENT = NOW + timedelta(seconds=LOCAL.seconds)


def _suspend_and_wait(root: Path) -> None:
    """Let the workload be suspended, too."""
    LOCAL.prepare(root)
    body = deployment()
    held = {**body, "metadata": {**mapping(body, "metadata"), "annotations": {SUSPEND: "true"}}}
    LOCAL.person(root).commit({path_of(held): text(held)}, "Hold web")


SUSPENDED = replace(LOCAL, prepare=_suspend_and_wait)


def _begin_a_staged_run(root: Path) -> None:
    """Let a change of web be on its way through stages."""
    LOCAL.prepare(root)
    person, staging = LOCAL.person(root), (strategy(stage("canary")), staged_delivery())
    person.commit({path_of(one): text(one) for one in staging}, "Stage web")
    LOCAL.run_pass(root, 410)
    changed = version("2")
    person.commit({path_of(changed): text(changed)}, "Release 2")
    LOCAL.run_pass(root, 420)


STAGED = replace(LOCAL, prepare=_begin_a_staged_run)


def _in_checkout(*arguments: str) -> Callable[[Path], list[str]]:
    return lambda root: ["-C", str(root / PERSON), *arguments]


def _pass_on(*options: str, remote: bool) -> Callable[[Path], list[str]]:
    """A pass at the moment, here or at the remote."""

    def arguments(root: Path) -> list[str]:
        asked = ["reconcile", "--now", format_moment(MOMENT), *options]
        if not remote:
            return ["-C", str(root / PERSON), *asked]
        served = ("--remote", f"file://{root / REMOTE}", "--mirror", str(root / MIRROR))
        return [*asked, *served, "--branch", "main"]

    return arguments


def _import_afar(root: Path) -> list[str]:
    to = ("--remote", f"file://{root / REMOTE}", "--branch", "main")
    return ["-C", str(root / PERSON), "import", str(EXPORT), *to, *AUTHOR]


PASSES = tuple(
    Verb(name=name, scenario=scenario, arguments=_pass_on(*options, remote=scenario.remote))
    for name, scenario, options in (
        ("reconcile", LOCAL, ()),
        ("reconcile, remote", AFAR, ()),
        ("reconcile, outputs", TWO_BRANCHES, ("--output-branch", OUTPUTS)),
        ("reconcile, outputs, remote", TWO_BRANCHES_AFAR, ("--output-branch", OUTPUTS)),
    )
)
EDITS = tuple(
    Verb(
        name=f"{words[0]}, checkout",
        scenario=scenario,
        arguments=_in_checkout(*words),
        folder=PERSON,
        repeatable=words[0] != "rebalance",
    )
    for scenario, words in (
        (LOCAL, ("import", str(EXPORT))),
        (LOCAL, ("rebalance", "deployment/web")),
        (LOCAL, ("scale", "deployment/web", "--replicas=7")),
        (LOCAL, ("suspend", "deployment/web")),
        (SUSPENDED, ("resume", "deployment/web")),
        (STAGED, ("rollout", "stop", "web")),
    )
)
BRANCHES = tuple(
    Verb(
        name=f"{words[0]}, branch",
        scenario=scenario,
        arguments=_in_checkout(*words, "--branch", MADE, *AUTHOR),
        branch=MADE,
    )
    for scenario, words in (
        (LOCAL, ("import", str(EXPORT))),
        (LOCAL, ("rebalance", "deployment/web")),
        (LOCAL, ("scale", "deployment/web", "--replicas=7")),
        (LOCAL, ("suspend", "deployment/web")),
        (SUSPENDED, ("resume", "deployment/web")),
        (STAGED, ("rollout", "stop", "web")),
    )
)
VERBS: tuple[Verb, ...] = (
    *PASSES,
    *EDITS,
    *BRANCHES,
    Verb(
        name="import, remote",
        scenario=AFAR,
        arguments=_import_afar,
        branch="main",
        repeatable=True,
    ),
    Verb(
        name="init",
        scenario=LOCAL,
        arguments=lambda root: ["init", str(root / NEW)],
        folder=NEW,
    ),
)
