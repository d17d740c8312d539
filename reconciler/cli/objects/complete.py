"""What a shell offers when Tab is pressed: kinds, objects, clusters, namespaces, revisions.

Nothing is printed here, whatever is wrong: a shell would mix it into the line that is being typed.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reconciler.cli.objects.api_kinds import NamedKind
    from reconciler.model.identity import ObjectKey
    from reconciler.model.repository_layout import RepositoryLayout
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.reading.present_keys import PresentKeys

MANY_FILES = 10_000
"""Beyond so many that are in no index, names take longer than one waits for a Tab."""

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def revisions(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return branches and tags; behind `..` the other end of a range."""
    start, dots, rest = incomplete.rpartition("..")
    names = ["HEAD", *_asked(context, _references)]
    return [f"{start}{dots}{name}" for name in names if name.startswith(rest)]


def branches(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the branches of the repository."""
    found = _asked(context, lambda repository: repository.branches())
    return [name for name in found if name.startswith(incomplete)]


def namespaces(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the namespaces that have objects."""
    found = {key.namespace for key in _every(_present(context))} - {""}
    return sorted(name for name in found if name.startswith(incomplete))


def clusters(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the clusters of all APIs."""
    from reconciler.core.dialects import CLUSTERS

    present = _present(context)
    found = {key.name for key in (present.inputs if present else ()) if key[:2] in CLUSTERS}
    return sorted(name for name in found if name.startswith(incomplete))


def read_kinds(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the kinds whose fields are known, and behind a dot the fields."""
    from reconciler.cli.objects import api_kinds
    from reconciler.cli.objects.named_field import named_field
    from reconciler.errors import UsageError

    if "." not in incomplete:
        return _kind_words(api_kinds.read_kinds(), incomplete)
    start, _, rest = incomplete.rpartition(".")
    try:
        fields = named_field(start).field.fields
    except UsageError:
        return []
    return [f"{start}.{field.name}" for field in fields if field.name.startswith(rest)]


def objects(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return kinds, then names of the kind: `KIND NAME...`, `KIND/NAME...`, `KIND,KIND`."""
    from reconciler.cli.objects import api_kinds

    present = _present(context)
    typed: tuple[str, ...] = context.params.get("words") or context.params.get("targets") or ()
    kind, slash, rest = incomplete.partition("/")
    if slash:
        return [
            f"{kind}/{name}" for name in _names(present, context, kind) if name.startswith(rest)
        ]
    first = next(iter(typed), "/")
    if "/" not in first:
        return [name for name in _names(present, context, first) if name.startswith(incomplete)]
    scopes = {key[:2]: bool(key.namespace) for key in _every(present)}
    found = api_kinds.named_kinds(dict.fromkeys(scopes, ("v1",)), scopes)  # no word has a version
    known = api_kinds.read_kinds() if present is None else found
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{word}" for word in _kind_words(known, last)]


def object_then_cluster(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return what names an object, and behind it the clusters."""
    typed: tuple[str, ...] = context.params.get("words") or ()
    named = len(typed) > 1 or any("/" in word for word in typed)
    return (clusters if named else objects)(context, parameter, incomplete)


def _kind_words(kinds: "Iterable[NamedKind]", incomplete: str) -> list[str]:
    """Return plurals, and short names where they are what was begun."""
    words = [one.name for one in kinds]
    short = [word for one in kinds for word in one.short if incomplete]
    return sorted({word for word in (*words, *short) if word.startswith(incomplete)})


def _names(present: "PresentKeys | None", context: click.Context, words: str) -> list[str]:
    """Return the names of objects of kinds, in the namespace that was chosen."""
    from reconciler.cli.objects.asked_kinds import kind_among
    from reconciler.core.dialects import KINDS
    from reconciler.errors import UsageError

    if present is None:
        return []
    there = {key[:2] for key in _every(present)}
    try:
        kinds = [kind_among(KINDS, there, word) for word in words.split(",")]
    except UsageError:
        return []
    everywhere = context.params.get("all_namespaces")
    namespace = context.params.get("namespace") or "default"
    return sorted(
        {
            key.name
            for key in _every(present)
            if key[:2] in kinds and (everywhere or key.namespace in ("", namespace))
        }
    )


def _every(present: "PresentKeys | None") -> "frozenset[ObjectKey]":
    """Return all objects that there are."""
    return frozenset() if present is None else present.inputs | present.outputs


def _references(repository: "Repository") -> list[str]:
    """Return branches, those of remotes, and tags."""
    kinds = ("refs/heads/", "refs/remotes/", "refs/tags/")
    listed = repository.git.line("for-each-ref", "--format=%(refname:lstrip=2)", *kinds)
    return listed.split("\n") if listed else []


def _asked(context: click.Context, question: "Callable[[Repository], list[str]]") -> list[str]:
    """Return what a repository answers; nothing where there is none, or it cannot be read."""
    from reconciler.errors import ReconcilerError
    from reconciler.shell.git.repository import Repository

    try:
        return question(Repository.open(_root(context)))
    except (ReconcilerError, OSError):
        return []


def _present(context: click.Context) -> "PresentKeys | None":
    """Return the objects of the revision that was chosen.

    An index of files tells them of any number of files. Without one, all are read; `None` if they
    are too many for that.
    """
    from reconciler.cli.objects.world import fleet_of
    from reconciler.errors import ReconcilerError
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.git.revisions import resolve_revision
    from reconciler.shell.reading.present_keys import keys_of, present_keys

    try:
        repository = Repository.open(_root(context))
        head = resolve_revision(repository, context.params.get("at") or "HEAD")
        with context.scope(cleanup=False):
            fleet = fleet_of(Path(), repository, _layout(context))
        known = present_keys(fleet.parts, head)
        loader = fleet.revisions.loader
        if known is not None or len(loader.entries(head)[0]) > MANY_FILES:
            return known
        return keys_of(loader.load(head))
    except (ReconcilerError, OSError):
        return None


def _root(context: click.Context) -> Path:
    """Return the root that the verb would take."""
    from reconciler.shell.root import find_root

    named: Path | None = context.find_root().params.get("directory")
    return named or find_root(Path(), _layout(context))


def _layout(context: click.Context) -> "RepositoryLayout":
    """Return where the verb would look for outputs, as far as its options are known."""
    from reconciler.model.repository_layout import OUTPUT_ROOT, RepositoryLayout

    return RepositoryLayout(
        output_root=context.params.get("output_root") or OUTPUT_ROOT,
        output_branch=context.params.get("output_branch"),
    )
