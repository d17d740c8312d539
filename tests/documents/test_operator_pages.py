"""Pages for operators: each command that they show is understood, each option is there."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from reconciler.cli.main import cli
from tests.shell.fleet import ROOT

PAGES = ("operations", "security", "protected-branches", "upgrade", "page", "adopt", "delivery")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("", "console", "sh", "shell")
INLINE = re.compile(r"`([^`\n]+)`")
OTHERS = {"--cascade", "--override-manager", "--upgrade"}  # of kubectl, the Argo CD CLI and pip
OPTION = re.compile(r"(--[a-z][a-z-]+)(?:[ =].*)?")


def text_of(page: str) -> str:
    """Return a page."""
    return (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")


def commands(page: str) -> Iterator[list[str]]:
    """Yield the words of each command of ours that a page shows."""
    blocks = (body for language, body in FENCED.findall(text_of(page)) if language in SHELL)
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"[|&;]", line.removeprefix("$ ")):
                if part.strip().startswith("reconciler "):
                    yield shlex.split(part, comments=True)
    for code in INLINE.findall(text_of(page)):
        if code.startswith("reconciler "):
            yield shlex.split(code)


SHOWN = [
    pytest.param(words, id=f"{page}: {' '.join(words)}"[:100])
    for page in PAGES
    for words in commands(page)
]


@pytest.mark.parametrize("words", SHOWN)
def test_a_command_that_is_shown_is_understood(words: list[str]) -> None:
    """Its verb and all its options, whatever their values."""
    context = cli.make_context("reconciler", [], resilient_parsing=True)
    _, *rest = words
    verb, arguments = rest[0], rest[1:]
    found = cli.get_command(context, verb)

    assert found is not None, verb
    found.make_parser(click.Context(found, parent=context)).parse_args(arguments)


def known_options() -> set[str]:
    """Return the options of all verbs."""
    context = cli.make_context("reconciler", [], resilient_parsing=True)
    verbs = [cli.get_command(context, name) for name in cli.list_commands(context)]
    params = [*cli.params, *(one for verb in verbs if verb for one in verb.params)]
    return {name for one in params for name in one.opts}


@pytest.mark.parametrize("page", PAGES)
def test_an_option_that_is_named_is_there(page: str) -> None:
    """Of some verb."""
    named = {
        found[1] for code in INLINE.findall(text_of(page)) if (found := OPTION.fullmatch(code))
    }

    assert set() == named - known_options() - OTHERS
