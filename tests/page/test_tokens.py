"""The colours of the page: they stand in one file, and each can be read on what it stands on."""

import re
from itertools import product

import pytest

from reconciler.page.rendering import asset

TEXT, SHAPE = 4.5, 3.0
"""Source: WCAG 2.2, 1.4.3 for text and 1.4.11 for what is no text."""
STATES = ("good", "bad", "warn", "hold")
PAIRS = (
    *(
        (ink, ground, TEXT)
        for ink, ground in product(("text", "soft", "link"), ("ground", "raised"))
    ),
    ("text", "on", TEXT),
    *((state, ground, TEXT) for state, ground in product(STATES, ("ground", "raised"))),
    *((state, f"{state}-tint", TEXT) for state in STATES),
    *((f"ink-{n}", f"use-{n}", TEXT) for n in range(6)),
    ("edge", "ground", SHAPE),
    ("use-4", "line", SHAPE),
    *((f"band-{n}", "ground", SHAPE) for n in range(6)),
)


def tokens(theme: str) -> dict[str, str]:
    """Return the colours of a theme by name; dark says what is otherwise."""
    light, dark = asset("tokens.css").split("@media (prefers-color-scheme: dark)")
    found = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", light))
    return (
        found
        if theme == "light"
        else found | dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", dark))
    )


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_ink_can_be_read_on_its_ground(theme: str) -> None:
    """By the contrast that is asked of text and of shapes."""
    colours = tokens(theme)
    low = {}
    for ink, ground, least in PAIRS:
        first, second = luminance(colours[ink]), luminance(colours[ground])
        contrast = (max(first, second) + 0.05) / (min(first, second) + 0.05)
        if contrast < least:
            low[ink, ground] = round(contrast, 2)

    assert {} == low


@pytest.mark.parametrize("name", ["style.css", "picture.css", "flows.svg", "picture.svg"])
def test_no_other_file_has_colours(name: str) -> None:
    """They name those of the one file."""
    assert [] == re.findall(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(", asset(name))


def test_every_token_that_is_used_is_there() -> None:
    """A name that is written wrong is a colour that is missing."""
    used = {
        name
        for file in ("style.css", "picture.css")
        for name in re.findall(r"var\(--([a-z0-9-]+)\)", asset(file))
    }

    assert set() == used - set(re.findall(r"--([a-z0-9-]+):", asset("tokens.css")))


def test_dark_names_no_token_that_light_has_not() -> None:
    """Nothing is there in one theme only."""
    assert tokens("light").keys() == tokens("dark").keys()
