"""Documents for contributors lead to what there is, and verbs are what these documents say."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.house.sources import PACKAGE, ROOT, SOURCES, text_of
from tests.house.test_deciders import RULES, Rule
from tests.test_toys import APIS

PAGES = ("docs/architecture.md", "docs/extending.md", "CONTRIBUTING.md")
FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.py)`")
ROOM = re.compile(r"^\| `([a-z]+)/` \| (.+) \|$", re.MULTILINE)
INNER = re.compile(r"`([a-z]+)/`")
SECTIONS = (
    "Layers and rooms",
    "Rounds and the pass",
    "The table of reads",
    "Delivery",
    "Imports",
    "Trust and branches",
    "The page",
    "Git",
    "Where is the rule",
)
MOST_WORDS = 4500  # twenty minutes


def page_text(page: str) -> str:
    """What a page says."""
    return (ROOT / page).read_text(encoding="utf-8")


PAGE = page_text(PAGES[0])
MENTIONED = sorted({(path, page) for page in PAGES for path in FILE.findall(page_text(page))})


def test_it_can_be_read_in_twenty_minutes() -> None:
    """What shows code, or lists options, has a page of its own."""
    assert len(PAGE.split()) <= MOST_WORDS


def test_each_subject_has_a_section() -> None:
    """Somebody who looks for one finds it."""
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)

    assert set(SECTIONS) <= set(headings)


def test_every_room_has_a_line() -> None:
    """And in it each room of the room, but for those of an API, which have a table."""
    section = PAGE.partition("## Layers and rooms\n")[2].partition("\n## ")[0]
    told = {name: set(INNER.findall(says)) for name, says in ROOM.findall(section)}

    assert {room.name for room in rooms(PACKAGE)} == told.keys()
    for name, inner in told.items():
        found = {room.name for room in rooms(PACKAGE / name)}
        if name == "shell":
            found |= {room.name for room in rooms(PACKAGE / "shell/git")}
        assert found == inner, name


def rooms(folder: Path) -> list[Path]:
    """The packages in a folder."""
    return [path.parent for path in folder.glob("*/__init__.py")]


@pytest.mark.parametrize(("path", "page"), MENTIONED)
def test_a_file_that_a_page_mentions_exists(path: str, page: str) -> None:
    """Below the package, or from the top."""
    assert (PACKAGE / path).is_file() or (ROOT / path).is_file(), page


def test_forty_questions_have_one_answer_each() -> None:
    """Each leads to one function, and no two to the same; the table has them all."""
    table = PAGE.partition("## Where is the rule\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]

    assert len(RULES) >= 40
    assert len(RULES) == len(rows)
    assert len({rule.question for rule in RULES}) == len(RULES)
    assert len({rule.symbol for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=[rule.symbol for rule in RULES])
def test_who_decides_is_there(rule: Rule) -> None:
    """A function or a class, at home in the module that is named."""
    assert f"reconciler.{rule.symbol.partition(':')[0]}" == rule.find().__module__


CONTRIBUTING_PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLANK = re.compile(r"<[a-z]+>")
STEP = re.compile(r"^\d+\. (.+(?:\n   .+)*)$", re.MULTILINE)
PATH = re.compile(r"`((?:[a-z_<>-]+/)+[A-Za-z_<>.-]*|[A-Z]+\.md)`")
TARGET = re.compile(r"`make ([a-z-]+)")
ADD_SECTIONS = dict(
    re.findall(
        r"^## Add (?:a|an) (\w+)\n(.+?)(?=^## |\Z)", CONTRIBUTING_PAGE, re.MULTILINE | re.DOTALL
    )
)
NAMED = sorted(set(PATH.findall(CONTRIBUTING_PAGE)))


def test_what_is_added_most_often_has_its_steps() -> None:
    """Each a list of files; of an API a page has them all."""
    assert {"filter", "rule", "kind", "field", "verb", "API"} == ADD_SECTIONS.keys()
    for name in ADD_SECTIONS.keys() - {"API"}:
        steps = STEP.findall(ADD_SECTIONS[name])

        assert len(steps) >= 4, name
        assert all(PATH.match(step) for step in steps), name


@pytest.mark.parametrize("path", NAMED)
def test_a_path_that_is_named_is_there(path: str) -> None:
    """Where a part is to be filled in, there is one that does; of APIs all of them do."""
    for filled in [path.replace("<api>", api) for api in APIS]:
        assert any(ROOT.glob(BLANK.sub("*", filled).rstrip("/"))), filled


@pytest.mark.parametrize("target", sorted(set(TARGET.findall(CONTRIBUTING_PAGE))))
def test_a_command_that_is_named_is_there(target: str) -> None:
    """In the Makefile, and in the table of all targets."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert f"\n{target}: " in makefile
    assert f"`make {target}" in CONTRIBUTING_PAGE


@pytest.mark.parametrize("api", APIS)
def test_a_filter_is_added_as_the_toys_are(api: str) -> None:
    """One function and one line in the file of the plugins: the only one of the product."""
    plugins = {
        path.replace("<api>", api)
        for step in STEP.findall(ADD_SECTIONS["filter"])
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


CITED = re.compile(r"`(?:reconciler/)?([a-z_]+(?:/[a-z_]+)*/[a-z_]+\.py|[a-z_]+\.py)`")


def test_a_cited_file_exists() -> None:
    """Named from the root, the package, the API's package, or the file's own folder."""
    cited = [(source, path) for source in SOURCES for path in CITED.findall(text_of(source))]

    assert [] == [
        (source, path)
        for source, path in cited
        if not any((base / path).is_file() for base in (PACKAGE / source).parents)
    ]


def test_the_changelog_says_nothing_twice() -> None:
    """Two entries that begin with the same line are one."""
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if line.startswith("- ")]

    assert [] == sorted({head for head in heads if heads.count(head) > 1})


VERBS = Path(__file__).parent.parent.parent / "reconciler/cli/verbs"
SHORT = 7  # statements of a verb that does what it does by itself, its help and imports included


def is_command(node: ast.FunctionDef) -> bool:
    """Whether click makes a verb of a function."""
    return any(ast.unparse(one).startswith("click.command(") for one in node.decorator_list)


def strays(source: str) -> list[str]:
    """What a file holds beside imports, constants, and short commands."""
    found = []
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef() if is_command(node) and len(node.body) <= SHORT:
                pass
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.append(name)
            case _:
                pass
    return found


@pytest.mark.parametrize("path", sorted(VERBS.rglob("*.py")), ids=lambda path: path.stem)
def test_a_verb_is_its_options_and_one_late_import(path: Path) -> None:
    """So its help costs nothing, and what does it has its imports where a reader looks for them."""
    assert [] == strays(path.read_text(encoding="utf-8"))


COMMAND = '@click.command(name="x")\ndef command(): '


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(f"{COMMAND}return run()", [], id="verb"),
        pytest.param(f"{COMMAND}{'a; ' * SHORT}b", ["command"], id="long"),
        pytest.param("def _row(): ...", ["_row"], id="helper"),
        pytest.param("class Row: ...", ["Row"], id="class"),
        pytest.param("ORDERS = 1", [], id="constant"),
    ],
)
def test_what_is_more_than_a_verb_is_found(source: str, expected: list[str]) -> None:
    """The check itself can fail."""
    assert expected == strays(source)
