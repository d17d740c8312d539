"""Expressions in CEL over a managed cluster."""

from dataclasses import dataclass

from reconciler.dialects.ocm.clusters import Members
from reconciler.dialects.ocm.request import Reports
from reconciler.errors import Misconfigured
from reconciler.schedule.framework import Mask

MISSING = "celSelector needs the extra `cel`: pip install 'reconciler[cel]'"


@dataclass(frozen=True, slots=True)
class Program:
    """Compiled expressions, all of which must be true."""

    expressions: tuple[str, ...]

    def select(self, _candidates: Mask, _members: Members, _reports: Reports) -> Mask:
        """Return the candidates that satisfy every expression."""
        raise Misconfigured(MISSING)


def compile_cel(_expressions: tuple[str, ...]) -> Program:
    """Compile the expressions of one selector.

    Raises:
        Misconfigured: An expression cannot be compiled.
    """
    raise Misconfigured(MISSING)
