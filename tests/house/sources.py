"""The files of the package, and the trees of those in which something occurs."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "reconciler"
SOURCES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def text_of(source: str) -> str:
    """What a file says."""
    return (PACKAGE / source).read_text(encoding="utf-8")


def tree_of(source: str) -> ast.Module:
    """The tree of a file."""
    return ast.parse(text_of(source))


def late_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield module and name of what is imported by its name when it is first asked for."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="late" | "late_value" | "runs"),
                args=[ast.Constant(value=str(module)), *names],
            ):
                name = names[0] if names else ast.Constant("run")
                yield module, ast.literal_eval(name)
            case _:
                pass


def trees_with(pattern: str, sources: Iterable[str] = SOURCES) -> Iterator[tuple[str, ast.Module]]:
    """Yield each file in whose text a pattern occurs, with its tree; all others need no look."""
    occurs = re.compile(pattern)
    for source in sources:
        text = text_of(source)
        if occurs.search(text):
            yield source, ast.parse(text)
