"""The engine that evaluates CEL, an optional dependency that is imported late."""

from importlib import import_module
from types import ModuleType

from reconciler.errors import Misconfigured

MISSING = "celSelector needs the extra `cel`, install it with pip install 'reconciler[cel]'"


def engine() -> ModuleType:
    """Return cel-python.

    Raises:
        Misconfigured: It is not installed; the message says what to install.
    """
    return _import("celpy")


def regexes() -> ModuleType:
    """Return RE2, which cel-python brings along: its patterns take linear time.

    Raises:
        Misconfigured: It is not installed; the message says what to install.
    """
    return _import("re2")


def runner() -> ModuleType:
    """Return what evaluates expressions on a meter.

    Raises:
        Misconfigured: cel-python is not installed; the message says what to install.
    """
    return _import("reconciler.dialects.ocm.cel.runner")


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise Misconfigured(MISSING) from error
