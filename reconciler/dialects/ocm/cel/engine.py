"""The engine that evaluates CEL, imported late: it takes half a second.

What cannot be imported is a broken installation, never an answer: the error goes up before any
cluster is asked, and the placement keeps its decisions.
"""

from importlib import import_module
from types import ModuleType


def engine() -> ModuleType:
    """Return cel-python.

    Raises:
        ImportError: It is not installed, or RE2 is not.
    """
    regexes()
    return import_module("celpy")


def regexes() -> ModuleType:
    """Return RE2, which cel-python brings along: its patterns take linear time."""
    return import_module("re2")


def runner() -> ModuleType:
    """Return what evaluates expressions on a meter."""
    return import_module("reconciler.dialects.ocm.cel.runner")
