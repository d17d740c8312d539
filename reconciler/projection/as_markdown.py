"""What each direction carries over and loses, as tables for documentation: made of the tables."""

from collections.abc import Iterator, Sequence
from itertools import permutations

from reconciler.projection.project import Language, direction, lost


def directions_as_markdown(languages: Sequence[Language]) -> str:
    """Return a section for each pair of APIs, in both directions."""
    return "\n".join(line for pair in permutations(languages, 2) for line in _section(*pair))


def notes_as_markdown(languages: Sequence[Language]) -> str:
    """Return what is special about how each API says something."""
    return "\n".join(
        f"- **{language.name}**, {row.fact.name}: {row.note}"
        for language in languages
        for row in language.rows
        if row.note
    )


def _section(source: Language, target: Language) -> Iterator[str]:
    yield f"### {source.name} to {target.name}"
    yield ""
    yield f"| what | of the {source.kind[1]} | of the {target.kind[1]} |"
    yield "| --- | --- | --- |"
    for fact, read, write in direction(source, target):
        yield f"| {fact.name} | {_code(read.place)} | {_code(write.place)} |"
    yield ""
    missing = [f"{name} ({_code(place)})" for name, place in lost(source, target)]
    if missing:
        yield f"Lost: {', '.join(missing)}."
        yield ""


def _code(place: str) -> str:
    """Return where something stands; paths as code, words as words."""
    parts = (part.strip() for part in place.split(","))
    return ", ".join(f"`{part}`" if "." in part and " " not in part else part for part in parts)
