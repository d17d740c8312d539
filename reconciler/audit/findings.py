"""What a check has to say: a fault, and how much it matters."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from reconciler.audit.rules import WARNINGS
from reconciler.model.world import Fault


class Severity(StrEnum):
    """How much a finding matters: an error never takes effect, a warning takes another one."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A fault and how much it matters; ordered by place."""

    fault: Fault
    severity: Severity


def finding_of(fault: Fault) -> Finding:
    """Return a fault with the severity of its rule.

    Severity belongs to the rule, not to the place that finds it: so a page of the documentation
    says it once, and a person who reads two reports never finds two answers.
    """
    return Finding(fault, Severity.WARNING if fault.rule in WARNINGS else Severity.ERROR)


def count(findings: Iterable[Finding]) -> str:
    """Return how many findings there are, in words.

    >>> count([])
    '0 faults'
    """
    found = [finding.severity for finding in findings]
    errors, warnings = found.count(Severity.ERROR), found.count(Severity.WARNING)
    parts = [_plural(number, name) for number, name in ((errors, "fault"), (warnings, "warning"))]
    return ", ".join(part for part in parts if not part.startswith("0 ")) or "0 faults"


def _plural(number: int, name: str) -> str:
    """Return a number and what it counts."""
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
