"""What a shell offers when Tab is pressed: kinds, objects, clusters, namespaces, revisions.

Nothing is printed here, whatever is wrong: a shell would mix it into the line that is being typed.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reconciler.model.identity import RepositoryLayout
    from reconciler.model.kinds import Kind
    from reconciler.shell.git.objects import TreeEntry
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.reading.kept import KeptOffers
    from reconciler.shell.reading.parts import PresentKeys


NAMESPACES, CLUSTERS, KINDS = "namespaces", "clusters", "kinds"
"""Questions about a commit; `of PLURAL` and `meant by WORD` are others."""

FEW_FILES = 500
"""So many of people that are in no index are parsed; of more only the names are looked for."""
MOST_FILES = 20_000
"""Beyond so many, in the order of paths, names take longer than one waits for a Tab."""

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def revisions(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return branches and tags; behind `..` the other end of a range."""
    start, dots, rest = incomplete.rpartition("..")
    names = ["HEAD", *_asked(context, _references)]
    return [f"{start}{dots}{name}" for name in names if name.startswith(rest)]


def branches(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the branches of the repository."""
    names = _asked(context, lambda repository: repository.branches())
    return [name for name in names if name.startswith(incomplete)]


def namespaces(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the namespaces that have objects."""
    names = _asked(context, lambda one: _Offers(context, one).of(NAMESPACES))
    return [name for name in names if name.startswith(incomplete)]


def clusters(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the clusters of all APIs."""
    names = _asked(context, lambda one: _Offers(context, one).of(CLUSTERS))
    return [name for name in names if name.startswith(incomplete)]


def read_kinds(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the kinds whose fields are known, and behind a dot the fields."""
    from reconciler.cli.explain import named_field
    from reconciler.errors import UsageError

    if "." not in incomplete:
        return _words(_known(), incomplete)
    start, _, rest = incomplete.rpartition(".")
    try:
        fields = named_field(start).field.fields
    except UsageError:
        return []
    return [f"{start}.{field.name}" for field in fields if field.name.startswith(rest)]


def objects(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return kinds, then names of the kind: `KIND NAME...`, `KIND/NAME...`, `KIND,KIND`."""
    typed: tuple[str, ...] = context.params.get("words") or context.params.get("targets") or ()
    kind, slash, rest = incomplete.partition("/")
    if slash:
        return [f"{kind}/{name}" for name in _names(context, kind) if name.startswith(rest)]
    first = next(iter(typed), "/")
    if "/" not in first:
        return [name for name in _names(context, first) if name.startswith(incomplete)]
    kinds = _asked(context, lambda one: _Offers(context, one).of(KINDS)) or _known()
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{word}" for word in _words(kinds, last)]


def object_then_cluster(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return what names an object, and behind it the clusters."""
    typed: tuple[str, ...] = context.params.get("words") or ()
    named = len(typed) > 1 or any("/" in word for word in typed)
    return (clusters if named else objects)(context, parameter, incomplete)


def _words(kinds: Iterable[str], incomplete: str) -> list[str]:
    """Return plurals, and short names where they are what was begun."""
    words = (word for kind in kinds for word in kind.split()[: None if incomplete else 1])
    return sorted({word for word in words if word.startswith(incomplete)})


def _known() -> list[str]:
    """Return the kinds that are known before a file is read, each with its short names."""
    from reconciler.cli import kinds as api_kinds

    return [" ".join((one.name, *one.short)) for one in api_kinds.read_kinds()]


def _names(context: click.Context, words: str) -> list[str]:
    """Return the names of objects of kinds, in the namespace that was chosen."""
    everywhere = context.params.get("all_namespaces")
    chosen = ("", context.params.get("namespace") or "default")
    places = _asked(context, lambda one: _Offers(context, one).places(words.split(",")))
    pairs = (place.split("/", 1) for place in places)
    return sorted({name for namespace, name in pairs if everywhere or namespace in chosen})


class _Offers:
    """What the revision that was chosen has to offer; all of it is kept for the next Tab."""

    def __init__(self, context: click.Context, repository: "Repository") -> None:
        """Find the commit.

        Raises:
            UsageError: There is no such revision.
        """
        from reconciler.shell.git.history import resolve_revision

        self._context = context
        self._repository = repository
        self._head = resolve_revision(repository, context.params.get("at") or "HEAD")
        self._kept = _kept_offers(context, repository)

    def of(self, question: str) -> list[str]:
        """Return what the commit answers."""
        offered = None if self._kept is None else self._kept.read(self._head, question)
        if offered is not None:
            return offered
        answers = _answers(self._present, question)
        if self._kept is not None:
            self._kept.write(self._head, answers)
        return answers[question]

    @cached_property
    def _present(self) -> "PresentKeys":
        return _present(self._context, self._repository, self._head)

    def places(self, words: Iterable[str]) -> list[str]:
        """Return namespaces and names of the objects of kinds, as `NAMESPACE/NAME`."""
        kinds = [kind.split() for kind in self.of(KINDS)]
        offered: list[str] = []
        for word in words:
            meant = [names[0] for names in kinds if word in names]
            offered += self.of(f"of {meant[0]}" if len(meant) == 1 else f"meant by {word}")
        return offered


def _answers(present: "PresentKeys", asked: str) -> dict[str, list[str]]:
    """Return all that a commit has to offer, by question, and what a word means that was asked."""
    from reconciler.cli import kinds as api_kinds
    from reconciler.core import dialects

    scopes = {key[:2]: bool(key.namespace) for key in present.every}
    kinds = api_kinds.named_kinds(dict.fromkeys(scopes, ("v1",)), scopes)  # no word has a version
    answers = {
        NAMESPACES: sorted({key.namespace for key in present.every} - {""}),
        CLUSTERS: sorted({key.name for key in present.inputs if key[:2] in dialects.CLUSTERS}),
        KINDS: [" ".join((one.name, *one.short)) for one in kinds],
        **{f"of {one.name}": _places(present, [one.id]) for one in kinds},
    }
    return answers if asked in answers else {**answers, asked: _meant(present, asked)}


def _meant(present: "PresentKeys", asked: str) -> list[str]:
    """Return the objects of the kinds that a word means which is no plural and not short."""
    from reconciler.cli.kinds import kind_among
    from reconciler.core.dialects import KINDS as KNOWN
    from reconciler.errors import UsageError

    try:
        kind = kind_among(
            KNOWN, {key[:2] for key in present.every}, asked.removeprefix("meant by ")
        )
    except UsageError:
        return []
    return _places(present, [kind])


def _places(present: "PresentKeys", kinds: "Collection[Kind]") -> list[str]:
    """Return namespaces and names of the objects of kinds."""
    return sorted({f"{key.namespace}/{key.name}" for key in present.every if key[:2] in kinds})


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


def _kept_offers(context: click.Context, repository: "Repository") -> "KeptOffers | None":
    """Return what commits answered before, `None` where that is not kept.

    Nor is it where outputs have a branch of their own, which moves under a commit.
    """
    from reconciler.cli.options import cache_folder
    from reconciler.shell.reading.kept import KeptOffers, place_of
    from reconciler.shell.resources import build_stamp

    layout = _layout(context)
    with context.scope(cleanup=False):
        folder = cache_folder()
    if folder is None or layout.output_branch is not None:
        return None
    return KeptOffers(folder / "documents", build_stamp, place_of(repository, layout))


def _present(context: click.Context, repository: "Repository", head: str) -> "PresentKeys":
    """Return the objects of a commit.

    An index of files tells them of any number of files. Without one, as in a fresh clone, few files
    are read; of many the names are guessed, and the verb that is typed then reads them.
    """
    from reconciler.cli.world import fleet_of
    from reconciler.shell.reading.parts import keys_of, present_keys

    with context.scope(cleanup=False):
        fleet = fleet_of(Path(), repository, _layout(context))
    present = present_keys(fleet.parts, head)
    if present is not None:
        return present
    loader = fleet.revisions.loader
    below = f"{fleet.layout.output_root}/"
    listed, written = loader.entries(head)
    inputs = {path: entry for path, entry in listed.items() if not path.startswith(below)}
    if len(inputs) <= FEW_FILES:
        return keys_of(loader.load(head))
    outputs = [path.removeprefix(below) for path in written if path.startswith(below)]
    return _guessed(repository, inputs, outputs)


def _guessed(
    repository: "Repository", inputs: "Mapping[str, TreeEntry]", outputs: "Collection[str]"
) -> "PresentKeys":
    """Return the objects that files look as if they held; outputs are told by their places."""
    from reconciler.core.dialects import KINDS as KNOWN
    from reconciler.manifests.identity import namespace_for
    from reconciler.manifests.paths import ALONE, folder_of, selects
    from reconciler.model.identity import ObjectKey
    from reconciler.shell.git.objects import read_blobs
    from reconciler.shell.reading.parts import PresentKeys

    names = [path for path in sorted(inputs) if selects(path, include=(), exclude=())]
    blobs = dict.fromkeys(inputs[path].blob for path in names[:MOST_FILES])
    guesses: set[ObjectKey] = set()
    for _, content in read_blobs(repository, blobs):
        for group, kind, namespace, name in (
            _named_in(content) if isinstance(content, bytes) else ()
        ):
            place = namespace_for(group, kind, namespace, KNOWN.scopes)
            guesses.add(ObjectKey(group, kind, place, name))
    folders = {folder_of(*kind): kind for kind in KNOWN.outputs}
    decided = {key for key in ALONE if f"{key.name}.yaml" in outputs}
    for path in outputs:
        folder, *scope, name = ("", *path.removesuffix(".yaml").split("/"))[-3:]
        if folder not in folders:
            folder, scope = "".join(scope), []
        if folder in folders:
            decided.add(ObjectKey(*folders[folder], "".join(scope), name))
    return PresentKeys(frozenset(guesses), frozenset(decided))


def _named_in(content: bytes) -> "Iterator[tuple[str, str, str, str]]":
    r"""Yield group, kind, namespace and name of what looks like a manifest, in either style.

    >>> [*_named_in(b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}")]
    [('apps', 'Deployment', '', 'web')]
    >>> [*_named_in(b"apiVersion: v1\nkind: A\nmetadata:\n  labels:\n    name: x\n  name: y")]
    [('', 'A', '', 'y')]
    """
    import re

    for document in re.split(r"(?m)^---", content.decode(errors="replace")):
        fields = dict(
            re.findall(r"(?m)^[\"']?(apiVersion|kind)[\"']?:\s*[\"']?([\w./-]+)", document)
        )
        metadata = re.search(r"(?m)^metadata:(.*(?:\n[ \t]+.*)*)", document)
        if metadata is None or len(fields) < 2:
            continue
        inner = re.search(r"\n( +)\S", metadata[1])
        start = r"[{,]\s*" if inner is None else rf"\n{inner[1]}"
        named = dict(re.findall(rf"{start}(name|namespace):\s*[\"']?([\w.-]+)", metadata[1]))
        if "name" in named:
            group = fields["apiVersion"].rpartition("/")[0]
            yield group, fields["kind"], named.get("namespace", ""), named["name"]


def _root(context: click.Context) -> Path:
    """Return the root that the verb would take."""
    from reconciler.shell.resources import find_root

    named: Path | None = context.find_root().params.get("directory")
    return named or find_root(Path(), _layout(context))


def _layout(context: click.Context) -> "RepositoryLayout":
    """Return where the verb would look for outputs, as far as its options are known."""
    from reconciler.model.identity import OUTPUT_ROOT, RepositoryLayout

    return RepositoryLayout(
        output_root=context.params.get("output_root") or OUTPUT_ROOT,
        output_branch=context.params.get("output_branch"),
    )
