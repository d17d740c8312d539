"""Events of one YAML document to its body, by strict rules."""

from typing import Any

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

from reconciler.manifests.text.events import NextEvent
from reconciler.manifests.text.limits import MAX_DEPTH, MAX_NODES, MAX_REPORTS
from reconciler.manifests.text.scalars import plain_scalar
from reconciler.manifests.text.unreadable import Unreadable, quoted

SHORT = 64  # characters: the meaning of text up to here is remembered, and the text shared
OPEN = (None, -1)  # what an anchor stands for while its node is being read


class Composer:
    """Builds the body of one document; what could be read on is in `reports`.

    Attributes:
        reports: Rules broken without losing track, in file order, at most 20.
        aliases: Line and column of each alias, from 1, in file order.
    """

    __slots__ = ("_anchors", "_next", "_nodes", "aliases", "reports")

    def __init__(self, next_event: NextEvent) -> None:
        self._next = next_event
        self._nodes = 0
        self._anchors: dict[str, tuple[object, int]] = {}
        self.aliases: list[tuple[int, int]] = []
        self.reports: list[Unreadable] = []

    def compose(self, root: Any) -> dict[str, object]:
        """Return the body that starts with the given event of a mapping.

        Raises:
            Unreadable: The rest of the document cannot be read.
            YAMLError: The rest of the file cannot be read.
        """
        body = self._collection(root, 0)
        return body if isinstance(body, dict) else {}

    def _node(self, event: Any, depth: int) -> object:
        kind = type(event)
        if kind is ScalarEvent:
            return self._scalar(event)
        if kind is AliasEvent:
            return self._alias(event)
        return self._collection(event, depth)

    def _collection(self, event: Any, depth: int) -> dict[str, object] | list[object]:
        if event.tag is not None:
            self._report_tag(event)
        if depth >= MAX_DEPTH:
            raise _placed(
                event,
                "yaml-depth",
                f"A document must be at most {MAX_DEPTH} levels deep.",
                "Flatten it.",
            )
        anchor, before = event.anchor, self._nodes
        if anchor is not None:
            self._anchors[anchor] = OPEN
        is_mapping = type(event) is MappingStartEvent
        value = self._mapping(depth + 1) if is_mapping else self._sequence(depth + 1)
        self._count(event, len(value))
        if anchor is not None:
            self._anchors[anchor] = (value, self._nodes - before)
        return value

    def _mapping(self, depth: int) -> dict[str, object]:
        body: dict[str, object] = {}
        read, scalar = self._next, self._scalar
        while type(event := read()) is not MappingEndEvent:
            key: str | None = None
            if type(event) is ScalarEvent and event.value != "<<":
                plain = scalar(event)
                key = plain if type(plain) is str else self._refuse(event)
            else:
                key = self._odd_key(event, depth)
            following = read()
            if type(following) is ScalarEvent:
                value = scalar(following)
            else:
                value = self._node(following, depth)
            if key is None:
                continue
            if key in body:
                self._report(
                    event,
                    "yaml-duplicate-key",
                    f"A key must be given once in its mapping, {quoted(key)} is given again.",
                    "Remove or rename one of the two.",
                )
            else:
                body[key] = value
        return body

    def _sequence(self, depth: int) -> list[object]:
        items: list[object] = []
        while type(event := self._next()) is not SequenceEndEvent:
            items.append(self._node(event, depth))
        return items

    def _odd_key(self, event: Any, depth: int) -> str | None:
        """Return the key that is "<<", an alias or a collection; `None` if it is refused."""
        if type(event) is ScalarEvent and event.implicit[0]:
            self._report(
                event,
                "yaml-merge-key",
                'A mapping must name its own fields, the merge key "<<" is not read.',
                "Write the merged fields out.",
            )
            return None
        key = self._node(event, depth)
        return key if isinstance(key, str) else self._refuse(event)

    def _refuse(self, event: Any) -> str | None:
        """Report a key that is no text, and return that it is left out."""
        shown = quoted(event.value) if type(event) is ScalarEvent else ""
        self._report(
            event,
            "yaml-key",
            f"A key must be text, {shown or 'this one'} is not.",
            f"Put it in quotes: {shown}." if shown else "Use a word as the key.",
        )
        return None

    def _scalar(self, event: Any) -> object:
        text: str = event.value
        if event.tag is None and event.anchor is None and len(text) <= SHORT:
            if not event.implicit[0]:
                return text
            try:
                return plain_scalar(text)
            except Unreadable as error:
                self._report(event, error.rule, error.message, error.expected)
                return text
        return self._rare_scalar(event, text)

    def _rare_scalar(self, event: Any, text: str) -> object:
        """Return the meaning of a scalar that is long, anchored or tagged."""
        value: object = text
        weight = len(text) // SHORT
        self._count(event, weight)
        if event.tag is not None:
            self._report_tag(event)
        elif event.implicit[0]:
            try:
                value = plain_scalar.__wrapped__(text)
            except Unreadable as error:
                self._report(event, error.rule, error.message, error.expected)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, weight)
        return value

    def _alias(self, event: Any) -> object:
        self.aliases.append((event.start_mark.line + 1, event.start_mark.column + 1))
        name = quoted(event.anchor)
        if event.anchor not in self._anchors:
            raise _placed(
                event,
                "yaml-alias",
                f"An alias must follow its anchor, {name} has none before it.",
                'Put text that starts with "*" in quotes.',
            )
        value, size = self._anchors[event.anchor]
        if size < 0:
            raise _placed(
                event,
                "yaml-alias",
                f"An alias must not stand inside of its own anchor, {name} does.",
                "Write the value out.",
            )
        self._count(event, size, rule="yaml-alias-limit")
        return value

    def _count(self, event: Any, nodes: int, *, rule: str = "yaml-node-limit") -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise _placed(
                event,
                rule,
                f"A document must have at most {MAX_NODES} nodes with its aliases written out.",
                "Split it.",
            )

    def _report_tag(self, event: Any) -> None:
        self._report(
            event,
            "yaml-tag",
            f"A value must have no tag, found {quoted(event.tag)}.",
            "Remove the tag; put text in quotes.",
        )

    def _report(self, event: Any, rule: str, message: str, expected: str) -> None:
        if len(self.reports) < MAX_REPORTS:
            self.reports.append(_placed(event, rule, message, expected))


def _placed(event: Any, rule: str, message: str, expected: str) -> Unreadable:
    mark = event.start_mark
    return Unreadable(rule, message, expected, line=mark.line + 1, column=mark.column + 1)
