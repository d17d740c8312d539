"""The tables of docs/one-system.md."""

from collections.abc import Iterator, Sequence
from itertools import permutations

from reconciler.projection.project import Language, direction


def directions_as_markdown(spoken: Sequence[Language]) -> str:
    """A section for each pair of APIs, in both directions."""
    return "\n".join(line for pair in permutations(spoken, 2) for line in section(*pair))


def notes_as_markdown(spoken: Sequence[Language]) -> str:
    """What is special about how each API says something."""
    return "\n".join(
        f"- **{language.name}**, {row.fact.name}: {row.note}"
        for language in spoken
        for row in language.rows
        if row.note
    )


def section(source: Language, target: Language) -> Iterator[str]:
    """What one direction carries over and loses."""
    yield f"### {source.name} to {target.name}"
    yield ""
    yield f"| what | of the {source.kind[1]} | of the {target.kind[1]} |"
    yield "| --- | --- | --- |"
    for fact, read, write in direction(source, target):
        yield f"| {fact.name} | {code(read.place)} | {code(write.place)} |"
    yield ""
    missing = [f"{name} ({code(place)})" for name, place in lost(source, target)]
    if missing:
        yield f"Lost: {', '.join(missing)}."
        yield ""


def lost(source: Language, target: Language) -> list[tuple[str, str]]:
    """What the source says and the target cannot, each with where the source says it."""
    carried = {fact for fact, _, _ in direction(source, target)}
    rows = [row for row in source.rows if row.fact not in carried and row.write is not None]
    return [*((row.fact.name, row.place) for row in rows), *source.alone]


def code(place: str) -> str:
    """Where something stands; paths as code, words as words."""
    parts = (part.strip() for part in place.split(","))
    return ", ".join(f"`{part}`" if "." in part and " " not in part else part for part in parts)
