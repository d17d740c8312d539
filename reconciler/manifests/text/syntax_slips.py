"""What a person most likely did where libyaml gave up: the place, what is wrong, what is right.

libyaml tells where it could not go on, which is often behind the mistake, and in its own words. No
word here is of the file: it may hold a Secret.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from reconciler.model.records import dataclass

TEMPLATE = "a template of another tool stands here"
RENDERED = "Have that tool render it, or put text in quotes."
TAB = "a tab character stands in the indentation"
HINTS = (
    ("mapping values are not allowed", 'Put text that contains ": " in quotes.'),
    ("cannot start any token", "Put text that starts with this character in quotes."),
    ("unexpected end of stream", "Close the quotes or brackets."),
    ("did not find expected ',' or", "Close the brackets."),
    ("could not find expected ':'", 'Put ": " behind the key, or indent the text further.'),
    ("did not find expected key", "Indent the keys of one mapping alike."),
    ("did not find expected '-'", "Indent the items of one list alike."),
)
QUOTE_OPENS = re.compile(r"""(?:^|[:\-\[,{]\s)\s*(["'])(?:(?!\1).)*$""")
DASH = re.compile(r"\s*-[A-Za-z\"']")
DASHES = re.compile(r"-{1,2}|-{4,}|- - -")
KEY = re.compile(r"\s*(?:- +)*[^\s#:'\"{\[][^:]*:(?:\s|$)")
BRACES = re.compile(r"(?:^|[:\-\s])\s*\{\{")


@dataclass(frozen=True, slots=True)
class Slip:
    """What is wrong, what would be right, and where: line and column from 1."""

    problem: str
    expected: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Where libyaml gave up.

    Attributes:
        problem: In its words.
        line: From 0.
        column: From 0.
        began: Line of what it was reading then, from 0; `None` if it does not say.
    """

    problem: str
    line: int
    column: int
    began: int | None = None


def explain(lines: Sequence[str], stop: Stop) -> Slip:
    """Return what is wrong where libyaml gave up; its own words where no more is known.

    Args:
        lines: Of the file.
        stop: Where.

    >>> explain(["a:", "  -b: c", "    d: e"], Stop("mapping values are not allowed", 2, 5)).line
    2
    """
    for guess in (
        _tab,
        _template,
        _leading_colon,
        _open_quote,
        _dash,
        _separator,
        _item,
        _colon,
        _indentation,
    ):
        slip = guess(lines, stop)
        if slip is not None:
            return slip
    hint = next((hint for part, hint in HINTS if part in stop.problem), "")
    return Slip(stop.problem, hint, stop.line + 1, stop.column + 1)


def template_at(lines: Sequence[str], line: int) -> bool:
    """Return whether a line, from 1, has a template of another tool where a value should be."""
    return BRACES.search(_line(lines, line - 1)) is not None


def _tab(lines: Sequence[str], stop: Stop) -> Slip | None:
    before = _line(lines, stop.line)[: stop.column + 1]
    if not before.endswith("\t") or before.strip():
        return None
    return Slip(TAB, "Indent with spaces.", stop.line + 1, stop.column + 1)


def _template(lines: Sequence[str], stop: Stop) -> Slip | None:
    if not template_at(lines, stop.line + 1):
        return None
    return Slip(TEMPLATE, RENDERED, stop.line + 1, stop.column + 1)


def _leading_colon(lines: Sequence[str], stop: Stop) -> Slip | None:
    """Text in brackets that begins with a colon, as `[::1]`: YAML that libyaml and Go refuse."""
    if "expected node content" not in stop.problem:
        return None
    here = _line(lines, stop.line)[stop.column : stop.column + 2]
    if not here.startswith(":") or here[1:].strip() == "":
        return None
    problem = "text in brackets begins with a colon"
    hint = "Put it in quotes, \"::1\" or '::1'."
    return Slip(problem, hint, stop.line + 1, stop.column + 1)


def _open_quote(lines: Sequence[str], stop: Stop) -> Slip | None:
    """A quote that is never closed, or by the one that should have opened the next text."""
    if "quoted scalar" in stop.problem and stop.began is not None:
        at = stop.began
    else:
        before = _line(lines, stop.line)[: stop.column]
        opened = [n for n in _upwards(lines, stop.line) if QUOTE_OPENS.search(lines[n])]
        mark = QUOTE_OPENS.search(lines[opened[0]]) if opened else None
        if mark is None or mark[1] not in before:
            return None
        at = opened[0]
        if any(mark[1] in line for line in lines[at + 1 : stop.line]):
            return None
    opening = QUOTE_OPENS.search(_line(lines, at))
    column = opening.start(1) + 1 if opening else 1
    return Slip("the quote that opens here is not closed", "Close the quote.", at + 1, column)


def _dash(lines: Sequence[str], stop: Stop) -> Slip | None:
    for number in (stop.line, *_upwards(lines, stop.line, most=1)):
        if DASH.match(_line(lines, number)):
            column = _indent(lines[number]) + 1
            problem = "a dash without a space behind it begins no item of a list"
            return Slip(problem, "Put a space behind the dash.", number + 1, column)
    return None


def _separator(lines: Sequence[str], stop: Stop) -> Slip | None:
    number = stop.line if stop.began is None else stop.began
    if not DASHES.fullmatch(_line(lines, number).strip()):
        return None
    problem = "documents of one file are separated by three dashes"
    return Slip(problem, "Write --- on a line of its own.", number + 1, 1)


def _item(lines: Sequence[str], stop: Stop) -> Slip | None:
    if "expected key" not in stop.problem or not _line(lines, stop.line).lstrip().startswith("- "):
        return None
    problem = "an item of a list stands further left than the key that it belongs to"
    hint = "Indent it like the other items, or like the key above them at least."
    return Slip(problem, hint, stop.line + 1, stop.column + 1)


def _colon(lines: Sequence[str], stop: Stop) -> Slip | None:
    """A key that has no colon: it is read as one text with the line below."""
    number = stop.began
    if "mapping values" in stop.problem:
        above = [*_upwards(lines, stop.line, most=1)]
        is_alike = bool(above) and _indent(lines[above[0]]) == _indent(lines[stop.line])
        number = above[0] if is_alike else None
    elif "expected ':'" not in stop.problem:
        number = None
    if number is None or KEY.match(_line(lines, number)):
        return None
    column = _indent(_line(lines, number)) + 1
    return Slip("a key has no colon behind it", "Put a colon behind the key.", number + 1, column)


def _indentation(lines: Sequence[str], stop: Stop) -> Slip | None:
    """Lines of one mapping that are not indented alike: the fewer of them are in the wrong."""
    here = _indent(_line(lines, stop.line))
    above = [*_upwards(lines, stop.line)]
    if not above or not lines[stop.line : stop.line + 1]:
        return None
    if "mapping values" in stop.problem:
        is_key = lines[stop.line].find(":") == stop.column
        if _indent(lines[above[0]]) >= here or not is_key:
            return None
        return _uneven(stop.line, here, _indent(lines[above[0]]), "above")
    if "expected key" not in stop.problem:
        return None
    block = [*_while(lines, above, lambda indent: indent > here)]
    parent = above[len(block) : len(block) + 1]
    if not block or not parent or _indent(lines[parent[0]]) >= here:
        return None
    other = min(_indent(lines[number]) for number in block)
    before = [number for number in block if _indent(lines[number]) == other]
    below = range(stop.line, len(lines))
    after = [
        number
        for number in _while(lines, below, lambda indent: indent >= here)
        if _indent(lines[number]) == here
    ]
    if len(before) < len(after):
        return _uneven(before[-1], other, here, "below")
    return _uneven(stop.line, here, other, "above")


def _uneven(number: int, here: int, there: int, where: str) -> Slip:
    problem = f"a key is indented by {here} where those {where} it are by {there}"
    return Slip(problem, "Indent the keys of one mapping alike.", number + 1, here + 1)


def _while(
    lines: Sequence[str], numbers: Sequence[int], holds: Callable[[int], bool]
) -> Iterator[int]:
    """Yield numbers of lines with something on them as long as it holds for their indentation."""
    for number in numbers:
        if _is_blank(lines[number]):
            continue
        if not holds(_indent(lines[number])):
            return
        yield number


def _upwards(lines: Sequence[str], line: int, most: int = 10_000) -> Iterator[int]:
    """Yield the numbers of the lines above one with something on them, the nearest first."""
    for number in range(min(line, len(lines)) - 1, -1, -1):
        if not most:
            return
        if not _is_blank(lines[number]):
            most -= 1
            yield number


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""


def _is_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
