"""One sentence in the place of a view, and what a person may do next."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence; `again` is where the same is asked again, `""` where that is of no use."""

    says: str
    again: str = ""
