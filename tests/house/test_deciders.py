"""Who is said to decide does: where a rule decides otherwise, its test fails."""

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reconciler.core.inputs.last_known_good import LastKnownGood
from reconciler.core.safety import NO_WAITS, Brake
from reconciler.core.stated import ReadDocuments
from reconciler.delivery.pruning import Pruning
from reconciler.dialects.contract import DependsOnOthers
from reconciler.dialects.karmada.scheduler.schedule import ScheduleReason
from reconciler.dialects.kubefleet import eviction
from reconciler.dialects.ocm.scheduler.plugins import Tolerance
from reconciler.schedule.framework import positions_of
from reconciler.shell.git.signing import Signature
from tests.builders import policy
from tests.dialects.kubefleet.test_eviction import COUNTS
from tests.shell.fleet import ROOT

ROW = re.compile(r"^\| (.+\?) \| `([a-z_.]+):([A-Za-z_.]+)` \|(?: `([^`]+)`)? \|$", re.MULTILINE)


class Rule(NamedTuple):
    """A question, the module and the name of who decides it, and the test that would fail."""

    question: str
    module: str
    name: str
    test: str

    @property
    def symbol(self) -> str:
        """Both as they stand in the table."""
        return f"{self.module}:{self.name}"

    def find(self) -> Any:
        """Return who decides."""
        return attrgetter(self.name)(import_module(f"reconciler.{self.module}"))


RULES = [
    Rule(*row) for row in ROW.findall((ROOT / "docs/architecture.md").read_text(encoding="utf-8"))
]


@dataclass(frozen=True)
class Otherwise:
    """An answer that is not the rule's, and with which arguments its test is run."""

    answer: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)


def never(*_: object, **__: object) -> None:
    """Nothing, whatever is asked."""


OTHERWISE = {
    "audit.gains:choose": Otherwise(lambda *_, **__: ((), ())),
    "core.asked:AskedAlone.part": Otherwise(lambda *_: DependsOnOthers("never told")),
    "core.safety:brake": Otherwise(lambda *_: Brake()),
    "core.inputs.last_known_good:last_known_good": Otherwise(lambda *_, **__: LastKnownGood()),
    "core.ledger:review": Otherwise(lambda found, *_: found),
    "core.safety:pace": Otherwise(lambda *_: NO_WAITS),
    "delivery.pruning:prune": Otherwise(lambda *_: Pruning()),
    "dialects.karmada.detector.policies:_best": Otherwise(
        lambda found: max((p for p, _ in found), key=lambda p: str(p.key.name), default=None),
        {"policies": [policy("b"), policy("a")], "expected": "a"},
    ),
    "dialects.karmada.eviction:_stays": Otherwise(lambda *_, **__: True),
    "dialects.karmada.eviction:tolerated_until": Otherwise(never, {"dated": None, "start": 100}),
    "dialects.karmada.quotas:QuotaGate.refusal": Otherwise(lambda *_: ""),
    "core.stated:StatedDocuments.read_by": Otherwise(lambda *_: ReadDocuments()),
    "dialects.karmada.overridemanager.overrides:rules_for": Otherwise(lambda *_: ()),
    "dialects.karmada.scheduler.schedule:find_trigger": Otherwise(lambda *_: ScheduleReason.NONE),
    "dialects.kubefleet.eviction:_within": Otherwise(
        lambda *_: eviction._FREE,
        {
            "limits": {"minAvailable": 2},
            "expected": f"blocked {COUNTS}: 2, totalPlacements: 2",
        },
    ),
    "dialects.kubefleet.overrides:selects": Otherwise(lambda *_: False),
    "dialects.kubefleet.scheduler.picks:_worst_first": Otherwise(
        lambda bindings: tuple(sorted(bindings, key=lambda one: str(one.target), reverse=True))
    ),
    "dialects.kubefleet.scheduler.picks:_descending": Otherwise(positions_of),
    "dialects.kubefleet.workgenerator.renderer:render_binding": Otherwise(lambda *_, **__: ()),
    "dialects.ocm.scheduler.plugins:ToleratedTaint.__str__": Otherwise(lambda _: "wait"),
    "dialects.ocm.scheduler.plugins:tolerance": Otherwise(lambda *_, **__: Tolerance()),
    "dialects.ocm.scheduler.plugins:prioritizers_of": Otherwise(lambda _: ()),
    "dialects.reads:ReadTable.affected": Otherwise(lambda *_: set(), {"kind": "fleet"}),
    "manifests.admission:is_suspended": Otherwise(lambda _: False),
    "rebalance.workload_rebalancer:_expires_at": Otherwise(never),
    "schedule.apportion:allot": Otherwise(
        lambda replicas, weights, **_: [replicas, *(0 for _ in weights[1:])]
    ),
    "shell.git.signing:_signature": Otherwise(
        lambda line: Signature(line.partition("\0")[0], "anybody", "")
    ),
    "shell.http.webhook:RunningHook.check": Otherwise(
        never, {"headers": "X-Gitlab-Token:", "says": "is wrong"}
    ),
    "shell.http.page_access:PageAccess._is_known": Otherwise(lambda *_: True),
}

HOLDERS = ("reconciler.", "tests.stories")
"""Where rules are replaced: a test that asks a rule itself proves nothing of the product."""

TESTED = [rule for rule in RULES if rule.test]


def test_every_test_of_the_table_is_tried() -> None:
    """And no rule is tried that the table does not say."""
    assert OTHERWISE.keys() == {rule.symbol for rule in TESTED}
    assert len(TESTED) >= 8


@pytest.mark.parametrize("rule", TESTED, ids=[rule.symbol for rule in TESTED])
def test_a_rule_that_decides_otherwise_is_noticed(
    rule: Rule, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The test holds as things are, and fails where they are not."""
    run(rule.test, OTHERWISE[rule.symbol].arguments, tmp_path / "as-it-is")
    replace(rule, OTHERWISE[rule.symbol].answer, monkeypatch)

    with pytest.raises(AssertionError):
        run(rule.test, OTHERWISE[rule.symbol].arguments, tmp_path / "otherwise")


def run(test: str, arguments: Mapping[str, Any], folder: Path) -> None:
    """Run a test by its id, in a folder of its own if it asks for one."""
    path, name = re.fullmatch(r"(.+)\.py::(\w+)", test).groups()  # type: ignore[union-attr]
    function = getattr(import_module(path.replace("/", ".")), name)
    if "tmp_path" in inspect.signature(function).parameters:
        folder.mkdir()
        arguments = {**arguments, "tmp_path": folder}
    function(**arguments)


def replace(rule: Rule, answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Put another answer in the place of a rule, wherever the product or a story has it by name."""
    original, (*owners, name) = rule.find(), rule.name.split(".")
    if owners:
        monkeypatch.setattr(f"reconciler.{rule.module}.{rule.name}", answer)
        return
    for key, module in list(sys.modules.items()):
        if key.startswith(HOLDERS) and vars(module).get(name) is original:
            monkeypatch.setattr(module, name, answer)
