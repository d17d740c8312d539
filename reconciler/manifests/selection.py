"""Which files of a tree are read as manifests."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from reconciler.manifests.file_names import is_manifest_name

NOT_MANIFESTS = ("**/templates/**", "kustomization.yaml", "Chart.yaml", "values*.yaml")
"""What belongs to other tools by its name: Helm charts and Kustomize."""


def selects(path: str, *, include: Iterable[str], exclude: Iterable[str]) -> bool:
    """Return whether a file is read.

    YAML and JSON files are, but for those in folders or of names that begin with a dot, and those
    of Helm and Kustomize. A glob without a slash is matched against the file's name, any other
    against its path; `*` and `?` stay within a folder, `**` does not.

    Args:
        path: Root-relative POSIX path, as it is shown.
        include: Globs that replace "every file"; empty means every file.
        exclude: Globs on top of the built-in ones.

    >>> selects("apps/web.yaml", include=(), exclude=())
    True
    >>> selects("apps/web.yaml", include=("clusters/**",), exclude=())
    False
    """
    return any(selected((path,), include=include, exclude=exclude))


def selected(
    paths: Iterable[str], *, include: Iterable[str], exclude: Iterable[str]
) -> Iterator[str]:
    """Yield those of many files that are read, in their order; see `selects`."""
    chosen = tuple(include)
    wanted = _pattern(chosen).fullmatch
    refused = _pattern((*NOT_MANIFESTS, *exclude)).fullmatch
    for path in paths:
        if path.startswith(".") or "/." in path or not is_manifest_name(path):
            continue
        if (not chosen or wanted(path)) and not refused(path):
            yield path


def matches_any(path: str, globs: tuple[str, ...]) -> bool:
    """Return whether a path matches one of the globs.

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
    """Translate a glob into an expression that no path keeps busy.

    A wildcard takes as little as it can, and never more on a second thought: another one follows,
    which takes the rest. Only what follows the last one must reach to the end of the path.
    """
    trimmed = glob.removeprefix("/")
    text = f"{trimmed}**" if trimmed.endswith("/") else trimmed
    pieces = re.split(r"((?:(?<=/)|^)\*\*/|\*\*)", text)
    parts = [_within(pieces[0], last=len(pieces) == 1)]
    for i in range(1, len(pieces), 2):
        last = i + 2 == len(pieces)
        little = "" if last else "?"
        skipped = f"(?:.*{little}/)?{little}" if pieces[i] == "**/" else f".*{little}"
        parts.append(skipped + _within(pieces[i + 1], last=last))
    return "".join(f"(?>{part})" for part in parts[:-1]) + parts[-1]


def _within(glob: str, *, last: bool) -> str:
    """Translate a piece of a glob whose wildcards stay within a folder."""
    head, *pieces = (re.escape(piece).replace(r"\?", "[^/]") for piece in glob.split("*"))
    parts = [f"(?>[^/]*?{piece})" for piece in pieces]
    if last and parts:
        parts[-1] = f"[^/]*{pieces[-1]}"
    return head + "".join(parts)
