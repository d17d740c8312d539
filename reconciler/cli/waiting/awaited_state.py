"""What `wait --for` waits for: a condition, a value at a path, that an object comes, or goes.

Source: kubectl pkg/cmd/wait/wait.go `conditionFuncFor`, condition.go `checkCondition`, json.go
`isJSONPathConditionMet`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.errors import UserError
from reconciler.manifests.json_path import check_path, find_path
from reconciler.manifests.json_template import spelled_value
from reconciler.model.availability import ASSUMED
from reconciler.model.body import Body
from reconciler.model.content import at, mappings_of
from reconciler.model.message_text import shown

FORMS = "condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete"
CREATE, DELETE = "create", "delete"
CONDITION, JSONPATH = "condition=", "jsonpath="
TRUE = "true"


@dataclass(frozen=True, slots=True)
class AwaitedCondition:
    """A condition of some type that is to have some status; letters of either case count alike."""

    name: str
    status: str = TRUE

    def __str__(self) -> str:
        return f"condition {self.name}={self.status}"

    def holds(self, body: Body | None) -> bool:
        """Return whether an object has it; one that is about an older generation does not count."""
        found = self._found(body)
        if body is None or found is None:
            return False
        is_so = str(found.get("status")).casefold() == self.status
        return is_so and _is_of_generation(body, found)

    def is_assumed(self, body: Body | None) -> bool:
        """Return whether nobody reports it: it is taken to be so, since time went by."""
        found = self._found(body)
        return found is not None and ASSUMED in str(found.get("reason"))

    def _found(self, body: Body | None) -> Body | None:
        conditions = [] if body is None else mappings_of(at(body, "status").get("conditions"))
        wanted = self.name.casefold()
        return next((one for one in conditions if str(one.get("type")).casefold() == wanted), None)


@dataclass(frozen=True, slots=True)
class AwaitedValue:
    """A value at a path; `value` of `None` is any."""

    path: str
    value: str | None

    def __str__(self) -> str:
        return self.path if self.value is None else f"{self.path} to be {self.value}"

    def holds(self, body: Body | None) -> bool:
        """Return whether it stands there.

        Raises:
            UserError: Several values stand there, or one that is no text, number or boolean.
        """
        found = () if body is None else find_path(body, self.path)
        if self.value is None:
            return bool(found)
        if len(found) > 1:
            raise UserError(f"{self.path} leads to {len(found)} values; it must lead to one")
        if found and isinstance(found[0], Mapping | list):
            raise UserError(f"{self.path} leads to no single value but to what holds several")
        return bool(found) and spelled_value(found[0]) == self.value


@dataclass(frozen=True, slots=True)
class AwaitedPresence:
    """That an object is there, or is not."""

    there: bool

    def __str__(self) -> str:
        return CREATE if self.there else DELETE

    def holds(self, body: Body | None) -> bool:
        """Return whether it is so."""
        return (body is not None) is self.there


AwaitedState = AwaitedCondition | AwaitedValue | AwaitedPresence


def parse_awaited(text: str) -> AwaitedState:
    """Return what `--for` asks for.

    Raises:
        ValueError: It is none of `FORMS`; the message says what is wrong.

    >>> parse_awaited("condition=Ready=False")
    AwaitedCondition(name='Ready', status='false')
    >>> parse_awaited("jsonpath={.spec.replicas}=3")
    AwaitedValue(path='{.spec.replicas}', value='3')
    """
    if text in (CREATE, DELETE):
        return AwaitedPresence(there=text == CREATE)
    if text.startswith(CONDITION):
        name, has_status, status = text.removeprefix(CONDITION).partition("=")
        if name and (status or not has_status):
            return AwaitedCondition(name, status.casefold() if has_status else TRUE)
    if text.startswith(JSONPATH):
        return _value(text.removeprefix(JSONPATH))
    raise ValueError(f"{shown(text)} must be {FORMS}")


def _value(text: str) -> AwaitedValue:
    """Return the path, which may hold `=` in its braces, and the value behind it."""
    if text.startswith("{"):
        end = text.rfind("}") + 1
        path, rest = text[:end], text[end:]
        if rest and not rest.startswith("="):
            raise ValueError(f"{shown(rest)} behind the path must be =VALUE")
        has_value, value = bool(rest), rest[1:]
    else:
        path, equals, value = text.partition("=")
        has_value = bool(equals)
    if has_value and not value:
        raise ValueError("a value must follow the = behind the path")
    check_path(path)
    return AwaitedValue(path, value.strip("'\"") if has_value else None)


def _is_of_generation(body: Body, condition: Body) -> bool:
    """Return whether a condition is about the present generation, as far as it says."""
    generation = at(body, "metadata").get("generation")
    observed = condition.get("observedGeneration", at(body, "status").get("observedGeneration"))
    if not isinstance(generation, int) or not isinstance(observed, int):
        return True
    return observed >= generation
