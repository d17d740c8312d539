"""Text of a JSON file to its value, by the same rules as YAML."""

import json
import re
from collections import Counter
from collections.abc import Callable

from reconciler.manifests.text.raw import (
    MAX_DEPTH,
    MAX_NODES,
    Unreadable,
    finite,
    not_finite,
    quoted,
    sized_integer,
    too_deep,
)

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def compose_json(text: str) -> object:
    """Return the value of a JSON text; `None` for a text of blanks.

    Raises:
        Unreadable: The text is not JSON, or breaks a rule that YAML manifests must keep, too.
    """
    if not text.strip():
        return None
    try:
        value: object = json.loads(
            text,
            object_pairs_hook=_mapping_of(text),
            parse_constant=_refuse_constant,
            parse_float=finite,
            parse_int=sized_integer,
        )
    except json.JSONDecodeError as error:
        raise Unreadable(
            "yaml-syntax",
            f"A file that ends in .json must be JSON: {error.msg}.",
            line=error.lineno,
            column=error.colno,
        ) from error
    except RecursionError as error:
        raise too_deep(1, 1) from error
    _measure(value)
    return value


def _mapping_of(text: str) -> Callable[[list[tuple[str, object]]], dict[str, object]]:
    """Return what makes a mapping of the pairs of one JSON object, and refuses duplicate keys."""

    def build(pairs: list[tuple[str, object]]) -> dict[str, object]:
        body = dict(pairs)
        if len(body) == len(pairs):
            return body
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        line, column = _second_place(text, twice)
        raise Unreadable(
            "yaml-duplicate-key",
            f"A key must be given once in its mapping, {quoted(twice)} is given again.",
            "Remove or rename one of the two.",
            line=line,
            column=column,
        )

    return build


def _second_place(text: str, key: str) -> tuple[int, int]:
    """Return where the key stands for the second time in the file, zeros if it is spelled oddly."""
    written = re.compile(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:")
    places = [match.start() for match in written.finditer(text)]
    if len(places) < 2:
        return 0, 0
    before = text[: places[1]]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _refuse_constant(name: str) -> float:
    raise not_finite(name)


def _measure(root: object) -> None:
    """Refuse what is too deep, too large, or holds half of a surrogate pair."""
    level, depth, nodes = [root], 0, 0
    while level:
        nodes += len(level)
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
                _refuse_surrogates(*value)
            elif isinstance(value, list):
                below.extend(value)
            elif isinstance(value, str):
                _refuse_surrogates(value)
        collections = any(isinstance(value, dict | list) for value in level)
        depth += collections
        if depth > MAX_DEPTH:
            raise too_deep(1, 1)
        if nodes > MAX_NODES:
            raise Unreadable(
                "yaml-node-limit", f"A document must have at most {MAX_NODES} nodes.", "Split it."
            )
        level = below


def _refuse_surrogates(*texts: str) -> None:
    for text in texts:
        if not text.isascii() and LONE_SURROGATE.search(text):
            raise Unreadable(
                "yaml-encoding",
                "Text must not have half of a surrogate pair.",
                "Write the character itself.",
            )
