"""Draws cost against size as SVG: both axes logarithmic, the same figures the same bytes."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchmarks.figure import Figure, Unit

SIZES = (1000, 10_000, 100_000)
CURVES: Mapping[str, tuple[str, str]] = {
    "cold load": ("cold load, {size:,} manifests", "#1f77b4"),
    "first pass": ("first pass, {size:,} manifests", "#d62728"),
    "warm pass, 10 changed": ("warm pass, 10 changed, {size:,} manifests", "#2ca02c"),
    "commit of 100 outputs": ("commit of 100 outputs, {size:,} files", "#9467bd"),
}
"""What each curve shows, the figures that it goes through, and its colour."""

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 40, 50
DECADES = range(6)  # from 1 ms to 100 s
TEXT = 'font-family="sans-serif" font-size="13"'

Point = tuple[float, float]


def points(figures: Iterable[Figure]) -> dict[str, list[tuple[int, float]]]:
    """Return sizes and milliseconds of each curve, of the figures that there are."""
    values = {figure.name: _milliseconds(figure) for figure in figures}
    return {
        title: [
            (size, values[name.format(size=size)])
            for size in SIZES
            if name.format(size=size) in values
        ]
        for title, (name, _) in CURVES.items()
    }


def draw(figures: Iterable[Figure]) -> str:
    """Return the picture."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        "<title>Cost against the number of manifests</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" {TEXT} font-weight="bold">Cost against size</text>',
        *_axes(),
    ]
    for title, curve in points(figures).items():
        if curve:
            places = [_place(size, cost) for size, cost in curve]
            parts += _curve(title, places, CURVES[title][1])
    return "\n".join([*parts, "</svg>", ""])


def _axes() -> Iterator[str]:
    for power in DECADES:
        _, y = _place(SIZES[0], 10**power)
        label = f"{10**power} ms" if power < 3 else f"{10 ** (power - 3)} s"
        yield _line((LEFT, y), (WIDTH - RIGHT, y))
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" {TEXT} text-anchor="end">{label}</text>'
    for size in SIZES:
        x, _ = _place(size, 1)
        yield _line((x, TOP), (x, HEIGHT - BOTTOM))
        foot = HEIGHT - BOTTOM + 20
        yield f'<text x="{x:.1f}" y="{foot}" {TEXT} text-anchor="middle">{size:,}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle:.1f}" y="{HEIGHT - 10}" {TEXT} text-anchor="middle">manifests</text>'


def _curve(title: str, places: Sequence[Point], colour: str) -> Iterator[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
    x, y = places[-1]
    yield f'<text x="{x + 10:.1f}" y="{y + 4:.1f}" {TEXT} fill="{colour}">{title}</text>'


def _line(start: Point, end: Point) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _place(size: int, milliseconds: float) -> Point:
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    across = math.log10(size / SIZES[0]) / math.log10(SIZES[-1] / SIZES[0])
    up = math.log10(max(milliseconds, 1)) / DECADES[-1]
    return LEFT + across * wide, HEIGHT - BOTTOM - up * high


def _milliseconds(figure: Figure) -> float:
    return 1000 * figure.value if figure.unit is Unit.SECONDS else figure.value
