"""CONTRIBUTING.md names what there is, and a filter is added as the tests add one."""

import re
from importlib import import_module

import pytest

from tests.shell.fleet import ROOT
from tests.test_extension import APIS

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLANK = re.compile(r"<[a-z]+>")
STEP = re.compile(r"^\d+\. (.+(?:\n   .+)*)$", re.MULTILINE)
PATH = re.compile(r"`((?:[a-z_<>-]+/)+[A-Za-z_<>.-]*|[A-Z]+\.md)`")
TARGET = re.compile(r"`make ([a-z-]+)")
SECTIONS = dict(
    re.findall(r"^## Add (?:a|an) (\w+)\n(.+?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
)
NAMED = sorted(set(PATH.findall(PAGE)))


def test_what_is_added_most_often_has_its_steps() -> None:
    """Each a list of files; of an API a page has them all."""
    assert {"filter", "rule", "kind", "verb", "API"} == SECTIONS.keys()
    for name in SECTIONS.keys() - {"API"}:
        steps = STEP.findall(SECTIONS[name])

        assert len(steps) >= 4, name
        assert all(PATH.match(step) for step in steps), name


@pytest.mark.parametrize("path", NAMED)
def test_a_path_that_is_named_is_there(path: str) -> None:
    """Where a part is to be filled in, there is one that does; of APIs all of them do."""
    for filled in [path.replace("<api>", api) for api in APIS]:
        assert any(ROOT.glob(BLANK.sub("*", filled).rstrip("/"))), filled


@pytest.mark.parametrize("target", sorted(set(TARGET.findall(PAGE))))
def test_a_command_that_is_named_is_there(target: str) -> None:
    """In the Makefile, and in the table of all targets."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert f"\n{target}: " in makefile
    assert f"`make {target}" in PAGE


@pytest.mark.parametrize("api", APIS)
def test_a_filter_is_added_as_the_toys_are(api: str) -> None:
    """One function and one line in the file of the plugins: the only one of the product."""
    plugins = {
        path.replace("<api>", api)
        for step in STEP.findall(SECTIONS["filter"])
        for path in PATH.findall(step)
        if path.startswith("reconciler/")
    }
    assert 1 == len(plugins)
    (line,) = plugins
    profile = import_module(line.removesuffix(".py").replace("/", ".")).PROFILE
    toy = import_module(APIS[api].toys[0].__module__)
    own = {
        name
        for name, value in vars(toy).items()
        if getattr(value, "__module__", "") == toy.__name__
    }

    assert profile is APIS[api].profile
    assert {APIS[api].toys[0].__name__} == own
    for added in (*profile.filters.values(), *profile.scores.values()):
        assert line == f"{added.__module__.replace('.', '/')}.py"
