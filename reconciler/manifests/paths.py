r"""Paths and names of files: where outputs stand, what is read as a manifest, how places are shown.

Each output file has its path by its object, and a git blob id by its content. Member clusters
report in `feedback/<cluster>/`, one folder per cluster. The place of an object is file and line, as
people follow them.

Git allows every byte in a name but NUL. What cannot be printed is written as git writes it: a name
with a character that no eye sees, or that is not UTF-8, stands everywhere with octal escapes, such
as `web\302\240.yaml`. Only what reads a folder knows the name as it is stored.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from reconciler.model.identity import ObjectKey
from reconciler.model.text import is_subdomain
from reconciler.model.world import Fault, World

RECORD = ObjectKey("reconciler.dev", "ReconcilerStatus", "", "reconciler")
FAULTS = ObjectKey("reconciler.dev", "FaultReport", "", "faults")
DELIVERY = ObjectKey("reconciler.dev", "DeliveryStatus", "", "delivery")
SAFETY = ObjectKey("reconciler.dev", "SafetyStatus", "", "safety")

ALONE = (RECORD, FAULTS, DELIVERY, SAFETY)
"""The outputs of all objects together, which stand at the top of the output root."""

LONGEST_STEM = 200  # a file name has at most 255 bytes; suffix, extension and slack come on top


def output_path(root: str, key: ObjectKey) -> str:
    """Return where the output of an object stands, root-relative POSIX.

    Names reach this function only after they passed the rules of `reconciler/model/text.py`. A name
    too long for a file name is cut and given a digest, so that no two objects share a file.

    >>> output_path("status", ObjectKey("work.example.org", "Binding", "ns", "web-service"))
    'status/bindings.work.example.org/ns/web-service.yaml'
    """
    if key in ALONE:
        return f"{root}/{key.name}.yaml"
    folder = f"{root}/{folder_of(key.group, key.kind)}"
    if key.namespace:
        folder = f"{folder}/{key.namespace}"
    return f"{folder}/{file_stem(key.name)}.yaml"


def file_stem(name: str) -> str:
    """Return the name of an object's file without suffix: its name, cut if it is too long."""
    if len(name) <= LONGEST_STEM:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[:LONGEST_STEM]}-{digest}"


def portable_stem(name: str) -> str:
    """Return the same where a disk may fold case, or refuse a colon.

    >>> portable_stem("web"), portable_stem("system:Admin")
    ('web', 'system-admin-88f8ab559728b438')
    """
    if ":" not in name and name == name.lower():
        return file_stem(name)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name.lower().replace(':', '-')[:LONGEST_STEM]}-{digest}"


def folder_of(group: str, kind: str) -> str:
    """Return the name of the folder of a kind: `<plural>.<group>`, of the core group `<plural>`.

    >>> folder_of("policy.example.org", "Policy")
    'policies.policy.example.org'
    """
    return f"{plural_of(kind)}.{group}" if group else plural_of(kind)


def plural_of(kind: str) -> str:
    """Return the plural of a kind in lower case.

    Source: apimachinery pkg/api/meta/restmapper.go `UnsafeGuessKindToResource`.

    >>> plural_of("Policy"), plural_of("Class"), plural_of("Binding")
    ('policies', 'classes', 'bindings')
    """
    single = kind.lower()
    if single.endswith("s"):
        return f"{single}es"
    return f"{single[:-1]}ies" if single.endswith("y") else f"{single}s"


def is_frozen(world: World, key: ObjectKey) -> bool:
    """Return whether the output of an object cannot be read, and so is left as it is."""
    return bool(world.frozen) and output_path(world.output_root, key) in world.frozen


def blob_id(content: bytes, *, like: str) -> str:
    """Return the git blob id of a content, in the object format that the id `like` has."""
    algorithm = hashlib.sha256 if len(like) == hashlib.sha256().digest_size * 2 else hashlib.sha1
    return algorithm(b"blob %d\x00" % len(content) + content).hexdigest()


SUFFIXES = (".yaml", ".yml", ".json")

_ESCAPE = re.compile(r"\\[0-3][0-7]{2}")


def shown_path(path: str) -> str:
    r"""Return a stored path as it is shown; no two paths are shown alike.

    A name that holds such an escape itself is escaped, too: its backslashes are `\134`.

    Args:
        path: POSIX, with surrogates in place of bytes that are not UTF-8.

    >>> shown_path("apps/web\u00a0.yaml"), shown_path("apps/web.yaml")
    ('apps/web\\302\\240.yaml', 'apps/web.yaml')
    """
    if path.isprintable() and ("\\" not in path or _ESCAPE.search(path) is None):
        return path
    return "".join(char if char.isprintable() and char != "\\" else _octal(char) for char in path)


def stored_path(shown: str) -> str:
    r"""Return the path that is shown so.

    >>> stored_path("apps/web\\302\\240.yaml") == "apps/web\u00a0.yaml"
    True
    """
    if not is_escaped(shown):
        return shown
    data = _ESCAPE.sub(lambda match: chr(int(match[0][1:], 8)), shown.encode().decode("latin-1"))
    return data.encode("latin-1").decode(errors="surrogateescape")


def is_escaped(shown: str) -> bool:
    """Return whether the name of a file holds what cannot be printed."""
    return "\\" in shown and _ESCAPE.search(shown) is not None


def is_manifest_name(shown: str) -> bool:
    r"""Return whether a file is named like a manifest, whatever unseen stands in the name.

    >>> is_manifest_name("web.yaml"), is_manifest_name("web.yaml\\302\\240")
    (True, True)
    >>> is_manifest_name("web.txt")
    False
    """
    return shown.endswith(SUFFIXES) or (is_escaped(shown) and plain_name(shown).endswith(SUFFIXES))


def unprintable_in(shown: str) -> str:
    r"""Return in words what an escaped name holds that cannot be printed, the first of it.

    >>> unprintable_in("web\\302\\240.yaml"), unprintable_in("caf\\351.yaml")
    ('U+00A0 NO-BREAK SPACE', 'the byte 351, which is not UTF-8')
    """
    char = next(c for c in stored_path(shown) if not c.isprintable() or c == "\\")
    if char == "\\":
        return "a backslash before three digits"
    if "\udc80" <= char <= "\udcff":
        return f"the byte {ord(char) - 0xDC00:03o}, which is not UTF-8"
    name = unicodedata.name(char, "")
    return f"U+{ord(char):04X}{f' {name}' if name else ''}"


def plain_name(shown: str) -> str:
    r"""Return an escaped name without its escapes, as a suggestion.

    >>> plain_name("apps/web\\302\\240.yaml")
    'apps/web.yaml'
    """
    return _ESCAPE.sub("", shown)


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode(errors="surrogateescape"))


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


def input_place(world: World, key: ObjectKey) -> str:
    """Return file and line of an input, `""` if it is not there."""
    manifest = world.inputs.get(key)
    if manifest is None:
        return ""
    origin = manifest.origin
    return f"{origin.path}:{origin.line}" if origin.line else origin.path


def doubt_about(world: World, key: ObjectKey) -> str:
    """Return why an object is not as its file has it, and where, `""` if it is."""
    name = str(key)
    fault = next((fault for fault in world.faults if fault.subject == name), None)
    if fault is not None:
        return f"it is faulty ({fault_place(fault)})"
    held = next((entry for entry in world.held if key in entry.keys), None)
    if held is None:
        return ""
    paths = (held.path, *held.beside)
    fault = next((fault for fault in world.faults if fault.path in paths), None)
    place = held.path if fault is None else fault_place(fault)
    return f"its file cannot be understood ({place})"


def with_place(world: World, key: ObjectKey, why: str) -> str:
    """Return a clause about an input with the place where it stands, `""` for none."""
    place = input_place(world, key) if why else ""
    return f"{why} ({place})" if place else why


def fault_place(fault: Fault) -> str:
    """Return file and line of a fault."""
    return f"{fault.path}:{fault.line}" if fault.line else fault.path


FEEDBACK = "feedback"


def is_feedback(path: str) -> bool:
    """Return whether a file stands where clusters report.

    >>> is_feedback("feedback/member1/web.yaml"), is_feedback("workloads/web.yaml")
    (True, False)
    """
    return path.startswith(f"{FEEDBACK}/")


def reporter_of(path: str) -> str:
    """Return the cluster whose report a file is, `""` if it is none.

    >>> reporter_of("feedback/member1/default/web.yaml")
    'member1'
    >>> reporter_of("feedback/web.yaml")
    ''
    """
    if not is_feedback(path):
        return ""
    parts = path.split("/")
    if len(parts) < 3:
        return ""
    return parts[1] if is_subdomain(parts[1]) else ""
