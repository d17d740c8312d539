"""What is not needed at once: names of other modules, and answers that few ever read.

A small question must not load what it does not need: `--help` no scheduler, `get` no validator. The
name stands as a text where it is used; the type is that of the field which it is given to. The
tests of layers read these texts as the imports that they are.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import Any, Generic, ParamSpec, TypeVar

from reconciler.model.records import dataclass

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")
V = TypeVar("V")
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


class LateMapping(Mapping[K, V]):
    """A mapping that is drawn when it is first read: equal to what is drawn, and pickled as that.

    >>> LateMapping(lambda: {"a": 1}) == {"a": 1}
    True
    """

    __slots__ = ("_draw", "_drawn")

    def __init__(self, draw: Callable[[], Mapping[K, V]]) -> None:
        """Remember how; whatever `draw` reads must stay as it is."""
        self._draw: Callable[[], Mapping[K, V]] | None = draw
        self._drawn: Mapping[K, V] = {}

    def _read(self) -> Mapping[K, V]:
        if self._draw is not None:
            self._drawn, self._draw = self._draw(), None
        return self._drawn

    def __getitem__(self, key: K) -> V:
        return self._read()[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return repr(self._read())

    def __reduce__(self) -> tuple[type[dict[K, V]], tuple[Mapping[K, V]]]:
        return dict, (dict(self._read()),)
