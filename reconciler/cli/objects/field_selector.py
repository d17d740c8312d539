"""Objects chosen by their fields: `--field-selector metadata.name=shop,metadata.namespace!=dev`."""

import re
from typing import TYPE_CHECKING, NamedTuple

from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.model.identity import ObjectKey

FIELDS = ("metadata.name", "metadata.namespace")
_TERM = re.compile(r"([^\s=!]+)\s*(==|=|!=)\s*(\S*)")


class FieldTerm(NamedTuple):
    """One condition: a field of `FIELDS`, its text, and whether it must be that or must not."""

    field: str
    value: str
    equal: bool

    def holds(self, key: "ObjectKey") -> bool:
        """Return whether an object meets it."""
        present = key.name if self.field == FIELDS[0] else key.namespace
        return (present == self.value) is self.equal


def parse_field_selector(text: str) -> tuple[FieldTerm, ...]:
    """Return the conditions, all of which must hold.

    Every kind has these two fields; those that an API server indexes beside are not known here.

    Source: apimachinery pkg/fields/selector.go `ParseSelector`.

    Raises:
        UsageError: It is none, or about another field.
    """
    from reconciler.model.message_text import shown

    terms = []
    for part in text.split(","):
        match = _TERM.fullmatch(part.strip())
        if match is None or match[1] not in FIELDS:
            raise UsageError(
                f"--field-selector {shown(text)} must be about {' or '.join(FIELDS)}, "
                "such as metadata.name=shop; -l chooses by labels"
            )
        terms.append(FieldTerm(match[1], match[3], equal=match[2] != "!="))
    return tuple(terms)
