"""JSONPath as kubectl evaluates it, where a missing field is no error.

Source: kubernetes staging/src/k8s.io/client-go/util/jsonpath/jsonpath.go, with AllowMissingKeys.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.dialects.ocm.workstatus.go_values import GoByte, GoInt, go_text, go_type
from reconciler.dialects.ocm.workstatus.path_syntax import (
    Descent,
    Every,
    FieldStep,
    Literal,
    Nodes,
    SliceStep,
    Text,
    Union,
    Where,
    Word,
)
from reconciler.errors import UserError

MOST_VALUES = 5_000_000  # five for each value of an object of 1.5 MB, the most that etcd stores
DEEPEST_RANGE = 100  # ranges inside of ranges
TOO_MANY = f"the paths of its rules lead to more than {MOST_VALUES} values, make them shorter"
TOO_DEEP = f"the path has more than {DEEPEST_RANGE} ranges inside of each other"

Values = Sequence[object]


@dataclass(slots=True)
class PathMeter:
    """Counts the values that paths lead to; `left` is how many they may still be."""

    left: int = MOST_VALUES

    def charge(self, values: int) -> None:
        """Count values.

        Raises:
            UserError: They are too many.
        """
        self.left -= values + 1
        if self.left < 0:
            raise UserError(TOO_MANY)


def find(body: object, path: Sequence[Nodes], meter: PathMeter) -> list[Values]:
    """Return what each action of a path leads to, in order.

    Raises:
        UserError: It leads nowhere by an error, or to too much; the messages but of the latter are
            the library's.
    """
    return _Run(meter, path).find(body)


@dataclass(slots=True)
class _Run:
    """One evaluation: the actions that are left, and the ranges that are open."""

    meter: PathMeter
    actions: Sequence[Nodes]
    current: Values = ()
    stack: list[Values] = field(default_factory=list)
    begun: int = 0
    inside: int = 0
    ended: int = 0
    depth: int = 0

    def find(self, body: object) -> list[Values]:
        self.current = [body]
        actions, found = self.actions, list[Values]()
        for position, action in enumerate(actions):
            values = self._walk(self.current, action)
            if 0 < self.ended <= self.inside:
                self.ended -= 1
                break
            if self.begun:
                self.begun -= 1
                self.inside += 1
                found += self._range(values, actions[position + 1 :])
                break
            found.append(values)
        return found

    def _range(self, values: Values, actions: Sequence[Nodes]) -> list[Values]:
        """Return what the actions that follow find in each value."""
        self.depth += 1
        if self.depth > DEEPEST_RANGE:
            raise UserError(TOO_DEEP)
        found: list[Values] = []
        for position, value in enumerate(values):
            self.actions = actions
            self.inside -= position == len(values) - 1
            found += self.find(value)
        self.depth -= 1
        return found

    def _walk(self, values: Values, nodes: Nodes) -> Values:
        for node in nodes:
            self.meter.charge(len(values))
            match node:
                case Literal(value):
                    values = [value] * len(values)
                case Text(text):
                    values = [text]
                case FieldStep(name):
                    values = [
                        one[name] for one in values if isinstance(one, Mapping) and name in one
                    ]
                case Every() | Descent():
                    values = self._opened(values, deep=isinstance(node, Descent))
                case SliceStep():
                    values = _spanned(values, node)
                case Union(several):
                    values = [one for nodes in several for one in self._walk(values, nodes)]
                case Where():
                    values = self._filtered(values, node)
                case Word(word):
                    values = self._word(word, values)
            self.meter.charge(len(values))
        return values

    def _word(self, word: str, values: Values) -> Values:
        if word == "range":
            self.stack.append(self.current)
            self.begun += 1
            return values
        if word != "end":
            raise UserError(f"unrecognized identifier {word}")
        if self.ended < self.inside:
            self.ended += 1
        elif self.stack:
            self.current = self.stack.pop()
        else:
            raise UserError("not in range, nothing to end")
        return []

    def _opened(self, values: Values, *, deep: bool) -> Values:
        """Return what values hold; if deep, all that hold something, each before what it holds."""
        if not deep:
            return [inner for one in values for inner in _children(one)]
        found: list[object] = []
        waiting = [*reversed(values)]
        while waiting:
            one = waiting.pop()
            inner = _children(one)
            self.meter.charge(len(inner))
            if inner:
                found.append(one)
                waiting += reversed(inner)
        return found

    def _filtered(self, values: Values, node: Where) -> Values:
        found: list[object] = []
        for value in values:
            if not isinstance(value, list):
                raise UserError(f"{go_text(value)} is not array or slice and cannot be filtered")
            found += [item for item in value if self._passes(item, node)]
        return found

    def _passes(self, item: object, node: Where) -> bool:
        if node.sign == "exists":
            return self._exists(item, node.left)
        left = self._only(item, node.left)
        right = self._only(item, node.right) if left else left
        return bool(right) and _compare(left[0], node.sign, right[0])

    def _exists(self, item: object, nodes: Nodes) -> bool:
        """Return whether nodes lead anywhere; upstream takes what led to an error for an answer."""
        values: Values = [item]
        for node in nodes:
            try:
                values = self._walk(values, (node,))
            except UserError:
                if self.meter.left < 0:
                    raise
                break
        return bool(values)

    def _only(self, item: object, nodes: Nodes) -> Values:
        """Return the one value, in a list; there may be none."""
        found = self._walk([item], nodes)
        if len(found) > 1:
            raise UserError("can only compare one element at a time")
        return found


def _children(value: object) -> Values:
    """Return what a value holds; maps by key, while Go's order varies; texts their bytes."""
    if isinstance(value, Mapping):
        return [value[name] for name in sorted(value)]
    if isinstance(value, str):
        return [*map(GoByte, value.encode())]
    return value if isinstance(value, list) else ()


def _spanned(values: Values, node: SliceStep) -> Values:
    found: list[object] = []
    for value in values:
        if value is None:
            continue
        if not isinstance(value, list):
            raise UserError(f"{go_type(value)} is not array or slice")
        size = len(value)
        start = node.start or 0
        start += size if start < 0 else 0
        end = size if node.end is None else node.end
        end += size if end < 0 or (end == 0 and node.single) else 0
        if start == end:
            return found  # upstream looks at no further list, either
        if not 0 <= start < size:
            raise UserError(f"array index out of bounds: index {start}, length {size}")
        if not 0 <= end <= size:
            raise UserError(f"array index out of bounds: index {end - 1}, length {size}")
        if start > end:
            raise UserError(f"starting index {start} is greater than ending index {end}")
        if node.step is not None and node.step <= 0:
            raise UserError("step must be > 0")
        found += value[start : end : node.step]
    return found


_SIGNS: Mapping[str, Callable[[bool, bool], bool]] = {
    "==": lambda _less, equal: equal,
    "!=": lambda _less, equal: not equal,
    "<": lambda less, _equal: less,
    "<=": lambda less, equal: less or equal,
    ">": lambda less, equal: not (less or equal),
    ">=": lambda less, _equal: not less,
}


def _compare(left: object, sign: str, right: object) -> bool:
    """Compare two values of one kind.

    Source: kubernetes staging/src/k8s.io/client-go/third_party/forked/golang/template/funcs.go
    """
    if sign not in _SIGNS:
        raise UserError(f"unrecognized filter operator {sign}")
    match left, right:
        case (bool(), bool()):
            if sign not in ("==", "!="):
                raise UserError("invalid type for comparison")
            return _SIGNS[sign](False, left == right)
        case (str(), str()) if type(left) is type(right):
            return _SIGNS[sign](left.encode() < right.encode(), left == right)
        case (int() | float(), int() | float()) if _kind(left) is _kind(right):
            return _SIGNS[sign](left < right, left == right)
    plain = (bool, int, float, str)
    if isinstance(left, plain) and isinstance(right, plain):
        raise UserError("incompatible types for comparison")
    raise UserError("invalid type for comparison")


def _kind(value: object) -> type:
    return int if isinstance(value, GoInt) else type(value)
