"""Which files of a tree are read as manifests."""

import re
from collections.abc import Iterable
from functools import lru_cache

SUFFIXES = (".yaml", ".yml", ".json")

NOT_MANIFESTS = ("**/templates/**", "kustomization.yaml", "Chart.yaml", "values*.yaml")
"""What belongs to other tools by its name: Helm charts and Kustomize."""


def selects(path: str, *, include: Iterable[str], exclude: Iterable[str]) -> bool:
    """Say whether a file is read.

    YAML and JSON files are, but for those in folders or of names that begin with a dot or cannot
    be printed, and those of Helm and Kustomize. A glob without a slash is matched against the
    file's name, any other against its path; `*` and `?` stay within a folder, `**` does not.

    Args:
        path: Root-relative POSIX path.
        include: Globs that replace "every file"; empty means every file.
        exclude: Globs on top of the built-in ones.

    >>> selects("apps/web.yaml", include=(), exclude=())
    True
    >>> selects("apps/web.yaml", include=("clusters/**",), exclude=())
    False
    """
    if not path.endswith(SUFFIXES) or not path.isprintable():
        return False
    if path.startswith(".") or "/." in path:
        return False
    chosen = tuple(include)
    if chosen and not matches_any(path, chosen):
        return False
    return not matches_any(path, (*NOT_MANIFESTS, *exclude))


def matches_any(path: str, globs: tuple[str, ...]) -> bool:
    """Say whether a path matches one of the globs.

    >>> matches_any("a/b/c.yaml", ("a/**",)), matches_any("a/b/c.yaml", ("a/*", "b/*"))
    (True, False)
    """
    return _pattern(globs).fullmatch(path) is not None


@lru_cache(maxsize=1024)
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """Translate globs; one without a slash is a name in any folder."""
    paths = (glob if "/" in glob else f"**/{glob.replace('**', '*')}" for glob in globs)
    return re.compile("|".join(map(_translated, paths)), re.DOTALL)


def _translated(glob: str) -> str:
    """Translate a glob; each of its parts matches in linear time."""
    trimmed = glob.removeprefix("/")
    text = f"{trimmed}**" if trimmed.endswith("/") else trimmed
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(part, re.escape(part)) for part in parts)
