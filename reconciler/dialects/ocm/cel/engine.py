"""RE2, imported late: only expressions with patterns need it.

What cannot be imported is a broken installation, never an answer: the error goes up before any
cluster is asked, and the placement keeps its decisions.
"""

from importlib import import_module
from types import ModuleType


def regexes() -> ModuleType:
    """Return RE2: its patterns take linear time, as those of Go.

    Raises:
        ImportError: It is not installed.
    """
    return import_module("re2")
