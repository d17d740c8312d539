"""Kinds that control nothing here: misspelled ones, and those of the APIs that are not read."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from reconciler.core.dialects import DIALECTS, KINDS, READ
from reconciler.manifests.references import Dangling
from reconciler.manifests.scope import CRD, KUBERNETES
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind

ALIKE = 0.85  # ours: a letter or two in a kind of ten
SLIP = 2  # letters too many at the end; a longer kind that begins with one of ours is another one


def idle_kinds(keys: Iterable[ObjectKey]) -> Iterator[Dangling]:
    """Yield the objects that are of an API here, or nearly of a built-in kind, yet control nothing.

    Args:
        keys: What is written in the repository.
    """
    found: dict[Kind, list[ObjectKey]] = defaultdict(list)
    for key in keys:
        if not key.reporter:
            found[key.group, key.kind].append(key)
    crds = (key.name for group, kind in found if (group, kind) == CRD for key in found[CRD])
    defined = frozenset(name.partition(".")[2] for name in crds)
    content = frozenset(kind for dialect in DIALECTS for kind in dialect.content)
    for kind in sorted(found.keys() - READ - content):
        for key in sorted(found[kind]):
            yield from _misspelled(key) or _not_read(key) or _not_built_in(key, defined)


def _not_read(key: ObjectKey) -> Sequence[Dangling]:
    """Return that a kind of an API is not read."""
    domain = _domain_of(key.group)
    if domain is None and key.kind not in _upstream().get(key.group, ()):
        return ()
    message = f"{key.kind} of {key.group} is not read, so it controls nothing here"
    kinds = ", ".join(sorted(kind for group, kind in READ - KINDS.owned if group == key.group))
    expected = f"of {key.group} {kinds} are read" if kinds else f"nothing of {key.group} is read"
    return (Dangling(key, "/kind", "kind-not-read", message, expected),)


def _misspelled(key: ObjectKey) -> Sequence[Dangling]:
    """Return that a kind or its group is all but one that is read; none if upstream has it."""
    if key.kind in _upstream().get(key.group, ()) or (key.group, key.kind) in KINDS.scopes:
        return ()
    kinds = [kind for group, kind in READ if group == key.group]
    close = _closest(key.kind, kinds)
    if close is not None and not _is_longer(key.kind, close):
        message = f'"{key.kind}" is not a kind of {key.group} that is read, so it has no effect'
        return (_meant(key, "/kind", message, f'"{close}"'),)
    groups = [group for group, kind in READ if kind == key.kind]
    domain = _domain_of(key.group)
    near = _closest(key.group, groups)
    if near is None and domain is not None:
        near = next((group for group in sorted(groups) if _domain_of(group) == domain), None)
    if near is None:
        return ()
    message = f'"{key.group}" has no {key.kind} that is read, so it has no effect'
    return (_meant(key, "/apiVersion", message, near),)


def _not_built_in(key: ObjectKey, defined: Collection[str]) -> Sequence[Dangling]:
    """Return that a kind is all but one that Kubernetes has; none if its group is defined here."""
    if key[:2] in KUBERNETES or key.group in defined or _domain_of(key.group) is not None:
        return ()
    close = _closest(key.kind, [kind for group, kind in KUBERNETES if group == key.group])
    if close is not None and not _is_longer(key.kind, close):
        message = f'"{key.kind}" is no kind that Kubernetes has, so nothing knows what it means'
        return (_meant(key, "/kind", message, f'"{close}"'),)
    near = _closest(key.group, [group for group, kind in KUBERNETES if kind == key.kind])
    if near is None:
        return ()
    message = f'"{key.group}" has no {key.kind} that Kubernetes knows'
    return (_meant(key, "/apiVersion", message, near),)


def _is_longer(kind: str, close: str) -> bool:
    """Return whether a kind is a known one with another word behind it."""
    return kind.startswith(close) and len(kind) - len(close) > SLIP


def _meant(key: ObjectKey, pointer: str, message: str, meant: str) -> Dangling:
    """Return that something else was meant."""
    return Dangling(key, pointer, "identity-kind-unknown", message, f"did you mean {meant}?")


def _closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is all but the one given."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for what is wrong

    return next(iter(get_close_matches(word, sorted(known), n=1, cutoff=ALIKE)), None)


def _domain_of(group: str) -> str | None:
    """Return the domain of an API that a group belongs to."""
    domains = (domain for dialect in DIALECTS for domain in dialect.domains)
    return next((one for one in domains if group == one or group.endswith(f".{one}")), None)


def _upstream() -> Mapping[str, Sequence[str]]:
    """Return group to kinds of all that the APIs define."""
    return {group: kinds for dialect in DIALECTS for group, kinds in dialect.crds().items()}
