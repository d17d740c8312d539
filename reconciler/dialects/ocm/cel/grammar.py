"""cel-python's grammar with optional fields and elements, which it lacks; import it late.

Added are `a.?b`, `a[?b]`, `[?a]` and `{?a: b}`.

Source: cel-go parser/gen/CEL.g4 `member`, `listInit`, `mapInitializerList`.
"""

import re
from collections.abc import Mapping
from importlib.resources import files

from celpy.celparser import CELParseError, CELParser
from lark import Lark, Token, Tree
from lark.exceptions import LexError, ParseError, UnexpectedInput, UnexpectedToken

_CHANGES: Mapping[str, str] = {
    "member         : member_dot |": (
        "member : member_optional_dot | member_optional_index | member_dot |"
    ),
    'list_lit       : "[" [exprlist] "]"': 'list_lit : "[" [elements] "]"',
    'mapinits       : expr ":" expr ("," expr ":" expr)*': (
        'mapinits : _entry ("," _entry)*\n'
        '_entry : (expr | optional_key) ":" expr\n'
        'optional_key : "?" expr\n'
        'elements : (expr | optional_element) ("," (expr | optional_element))*\n'
        'optional_element : "?" expr\n'
        'member_optional_dot : member "." "?" IDENT\n'
        'member_optional_index : member "[" "?" expr "]"\n'
    ),
}


def _grammar() -> str:
    """Return the grammar; a rule that is not where it was is a broken installation."""
    text = files("celpy").joinpath("cel.lark").read_text(encoding="utf-8")
    for before, after in _CHANGES.items():
        if text.count(f"\n{before}") != 1:
            raise ImportError(f"cel-python's grammar has no rule {before}")
        text = text.replace(f"\n{before}", f"\n{after}")
    return text


_PARSER = Lark(
    _grammar(),
    parser="lalr",
    start="expr",
    g_regex_flags=re.MULTILINE,
    lexer_callbacks={"IDENT": CELParser.ambiguous_literals},
    propagate_positions=True,
    maybe_placeholders=False,
    priority="invert",
)


def parse(text: str) -> Tree[Token]:
    """Parse an expression.

    Raises:
        CELParseError: It is none; the error says where.
    """
    try:
        return _PARSER.parse(text)
    except UnexpectedInput as error:
        line, column = _place_of(error, text)
        context = error.get_context(text)
        raise CELParseError(context, *error.args, line=line, column=column) from error
    except (LexError, ParseError):
        raise CELParseError("no expression") from None


def _place_of(error: UnexpectedInput, text: str) -> tuple[int, int]:
    """Return line and column, from 1; of an end that came too early that behind the last character.

    The parser gives the last token for it, cel-go the end of the text.
    """
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        lines = text.split("\n")
        return len(lines), len(lines[-1]) + 1
    return max(error.line, 1), max(error.column, 1)
