"""The table of docs/architecture.md that says who decides what, row by row."""

import re
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

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
