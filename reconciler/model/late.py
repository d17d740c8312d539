"""Names of other modules that are imported when they are first used.

A small question must not load what it does not need: `--help` no scheduler, `get` no validator. The
name stands as a text where it is used; the type is that of the field which it is given to. The
tests of layers read these texts as the imports that they are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class _Late(Generic[P, R_co]):
    # A value rather than a closure: facts of an API travel to workers, pickled.
    module: str
    name: str

    def __call__(self, *args: P.args, **options: P.kwargs) -> R_co:
        function: Callable[P, R_co] = _load(self.module, self.name)
        return function(*args, **options)


def late(module: str, name: str) -> Callable[P, R]:
    """Return a function or class of a module that is imported when it is first called."""
    asked: _Late[P, R] = _Late(module, name)
    return asked


def late_value(module: str, name: str) -> Callable[[], R]:
    """Return what returns a value of a module, which is imported when it is first asked for."""
    return partial(_load, module, name)


@cache
def _load(module: str, name: str) -> Any:
    return getattr(import_module(module), name)
