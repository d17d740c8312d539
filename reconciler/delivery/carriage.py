"""How each transport carries what is asked not to happen on clusters, or that it does not.

What is asked is for the agents of an API. Tools that apply files know a few marks of their own;
where they know none, the repository is told so (`delivery-not-carried`), and where applying a file
all the same could harm what runs, nothing new is delivered. Not delivered never means taken away:
what is there stays byte for byte.

This table is the only place that says which transport does what; docs/delivery.md shows it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto

from reconciler.dialects.renderer import NO_INSTRUCTIONS, ClusterWork, Instruction, Reach, Rendered
from reconciler.model.body import Body
from reconciler.model.fields import at, with_value, without
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, field, replace

NOT_CARRIED = "delivery-not-carried"

FLUX_PRUNE = "kustomize.toolkit.fluxcd.io/prune"
FLUX_APPLY = "kustomize.toolkit.fluxcd.io/ssa"
ARGO_OPTIONS = "argocd.argoproj.io/sync-options"
MARK_NAMES = (FLUX_PRUNE, ARGO_OPTIONS)
"""Annotations by which tools do not prune an object: its file may go once they are there."""
KEPT_BY_FLUX = "disabled"
KEPT_BY_ARGO = ("Prune=false", "Delete=false")
_SWITCHES = ("Prune=", "Delete=")
_ANNOTATIONS = ("metadata", "annotations")


class Effect(Enum):
    """What a transport does with an object of which something is asked.

    `MARKS`, `LEAN` and `CREATES` change the object. `STAYS` writes nothing, `KNOWN` writes only
    where a file of ours is. `OUTLIVES` keeps the file once the decision is gone.
    """

    NONE = auto()
    MARKS = auto()
    LEAN = auto()
    CREATES = auto()
    STAYS = auto()
    KNOWN = auto()
    OUTLIVES = auto()


@dataclass(frozen=True, slots=True)
class Cell:
    """What one transport makes of one instruction.

    Attributes:
        by: How it carries it, or what happens instead; a clause.
        effect: On what is delivered.
        carried: Whether what is asked for holds.
    """

    by: str
    effect: Effect = Effect.NONE
    carried: bool = True


def _not(by: str, effect: Effect = Effect.NONE) -> Cell:
    return Cell(by, effect, carried=False)


_NATIVE = Cell("its agents keep to it")
_LIST = _not("a list of clusters says nothing of objects")
_STAYS = Cell("nothing new is written, what is there stays", Effect.STAYS)
_FOREIGN = _not("an object of the same name is taken over")
_UNKNOWN = _not("nothing new is delivered where no file of it is", Effect.KNOWN)
_NOTHING_NEW = _not("nothing new is delivered, what is there stays", Effect.STAYS)
_REVERTS = _not("what differs on the cluster is set back")
_MARKED = Cell("annotations keep it from being pruned", Effect.MARKS)
_OUTLIVES = Cell("once the placement is gone the files stay until they are let go", Effect.OUTLIVES)

TABLE: Mapping[Instruction, Mapping[str, Cell]] = {
    instruction: dict(zip(("folders", "decisions", "manifestworks", "works"), cells, strict=True))
    for instruction, cells in {
        Instruction.SUSPENDED: (_STAYS, _STAYS, _STAYS, _NATIVE),
        Instruction.PRESERVED: (_MARKED, _LIST, Cell("`deleteOption` is Orphan"), _NATIVE),
        Instruction.REPLICAS_RETAINED: (
            Cell("`spec.replicas` is left out", Effect.LEAN),
            _LIST,
            Cell("`ignoreFields` has `.spec.replicas`"),
            _NATIVE,
        ),
        Instruction.ABORTS: (_FOREIGN, _LIST, _FOREIGN, _NATIVE),
        Instruction.REPORT_DIFF: (_NOTHING_NEW, _NOTHING_NEW, _NOTHING_NEW, _NATIVE),
        Instruction.TAKE_OVER: (_UNKNOWN, _LIST, _UNKNOWN, _NATIVE),
        Instruction.DRIFTED: (_REVERTS, _LIST, _REVERTS, _NATIVE),
        Instruction.UNFORCED: (_REVERTS, _LIST, _REVERTS, _NATIVE),
        Instruction.ABANDON: (_OUTLIVES, _LIST, _OUTLIVES, _not("upstream does not read it")),
        Instruction.ORPHAN: (_MARKED, _LIST, _NATIVE, _NATIVE),
        Instruction.CREATE_ONLY: (
            _not("an annotation keeps Flux from updating it, Argo CD updates it", Effect.CREATES),
            _LIST,
            _NATIVE,
            _NATIVE,
        ),
        Instruction.READ_ONLY: (_NOTHING_NEW, _LIST, _NATIVE, _NATIVE),
        Instruction.IGNORED_FIELDS: (_REVERTS, _LIST, _NATIVE, _NATIVE),
        Instruction.EXECUTOR: (_NOTHING_NEW, _LIST, _NATIVE, _NATIVE),
        Instruction.CHECKSUM: (
            _not("labels and annotations are added that the checksum of SOPS covers"),
            Cell("a list of clusters holds no values"),
            _not("labels and annotations are added that the checksum of SOPS covers"),
            _not("labels and annotations are added that the checksum of SOPS covers"),
        ),
    }.items()
}
"""What each transport does about each instruction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carriage:
    """What one transport delivers of a decision, with what is asked carried as far as it can.

    Attributes:
        rendered: What it delivers.
        stays: What is left as it is.
        known: What is written only where a file of it is.
        outlives: Whether its files stay once the decision is gone.
        asked: Each instruction, in order, with the objects of which it is asked.
    """

    rendered: Rendered
    stays: Reach = field(default_factory=dict)
    known: Reach = field(default_factory=dict)
    outlives: bool = False
    asked: Mapping[Instruction, frozenset[ObjectKey]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.asked)


def carry(rendered: Rendered, transport: str, *, apart: bool) -> Carriage:
    """Return what a transport delivers of a decision.

    Args:
        rendered: What the decision puts onto clusters.
        transport: Its name.
        apart: Whether each object has a file of its own, so that one may stay and others be new.
    """
    if not any(work.asked for work in rendered.works):
        return Carriage(rendered=rendered)
    works: list[ClusterWork] = []
    stays: defaultdict[ClusterName, tuple[ObjectKey, ...]] = defaultdict(tuple)
    only_there: defaultdict[ClusterName, tuple[ObjectKey, ...]] = defaultdict(tuple)
    effects: set[Effect] = set()
    for work in rendered.works:
        wanted = {
            source: frozenset(
                TABLE[one][transport].effect for one in work.asked.get(source, NO_INSTRUCTIONS)
            )
            for source in work.manifests
        }
        held = frozenset(source for source, found in wanted.items() if Effect.STAYS in found)
        if held and not apart:
            held = frozenset(wanted)
        if held:
            stays[work.cluster] += tuple(sorted(held))
        if new := sorted(source for source, found in wanted.items() if Effect.KNOWN in found):
            only_there[work.cluster] += tuple(new)
        effects.update(*wanted.values())
        left = {
            source: _changed(manifest, wanted[source])
            for source, manifest in work.manifests.items()
            if source not in held
        }
        if left or not held:
            works.append(replace(work, manifests=left))
    placed = () if Effect.STAYS in effects else rendered.placed
    return Carriage(
        rendered=replace(rendered, works=tuple(works), placed=placed),
        stays=stays,
        known=only_there,
        outlives=Effect.OUTLIVES in effects,
        asked=_asked(rendered),
    )


def not_carried(carriage: Carriage, transport: str) -> Iterator[Instruction]:
    """Yield what is asked and does not hold, in order."""
    return (one for one in carriage.asked if not TABLE[one][transport].carried)


def why_held(carriage: Carriage, transport: str, cluster: ClusterName) -> str:
    """Return why a cluster gets nothing new, `""` if it does."""
    if cluster not in carriage.stays:
        return ""
    cells = ((instruction, TABLE[instruction][transport]) for instruction in carriage.asked)
    named = (f"`{one}`: {cell.by}" for one, cell in cells if cell.effect is Effect.STAYS)
    return "; ".join(named)


def _asked(rendered: Rendered) -> dict[Instruction, frozenset[ObjectKey]]:
    objects: defaultdict[Instruction, set[ObjectKey]] = defaultdict(set)
    for work in rendered.works:
        for source, asked in work.asked.items():
            for instruction in asked:
                objects[instruction].add(source)
    return {
        instruction: frozenset(objects[instruction])
        for instruction in Instruction
        if instruction in objects
    }


def _changed(manifest: Body, effects: frozenset[Effect]) -> Body:
    """Return an object with the marks of what it carries."""
    for effect, change in CHANGES.items():
        if effect in effects:
            manifest = change(manifest)
    return manifest


def marked(manifest: Body) -> Body:
    """Return an object that neither Flux nor Argo CD prunes, once it is on the cluster so.

    >>> marked({"metadata": {"annotations": {ARGO_OPTIONS: "Replace=true,Prune=true"}}})[
    ...     "metadata"]["annotations"][ARGO_OPTIONS]
    'Replace=true,Prune=false,Delete=false'

    Source: fluxcd/kustomize-controller docs/spec/v1/kustomizations.md "prune"; argoproj/argo-cd
    docs/user-guide/sync-options.md.
    """
    options = at(manifest, *_ANNOTATIONS).get(ARGO_OPTIONS)
    written = options.split(",") if isinstance(options, str) and options else []
    others = (one for one in written if not one.strip().startswith(_SWITCHES))
    marks = {FLUX_PRUNE: KEPT_BY_FLUX, ARGO_OPTIONS: ",".join((*others, *KEPT_BY_ARGO))}
    return _annotated(manifest, marks)


def is_marked(report: Body) -> bool:
    """Return whether an object on a cluster has the mark by which a tool does not prune it."""
    annotations = at(report, *_ANNOTATIONS)
    options = str(annotations.get(ARGO_OPTIONS, "")).split(",")
    return annotations.get(FLUX_PRUNE) == KEPT_BY_FLUX or KEPT_BY_ARGO[0] in options


def _annotated(manifest: Body, marks: Mapping[str, str]) -> Body:
    if not isinstance(manifest.get("metadata"), Mapping):
        return manifest
    return with_value(manifest, _ANNOTATIONS, {**at(manifest, *_ANNOTATIONS), **marks})


CHANGES: Mapping[Effect, Callable[[Body], Body]] = {
    Effect.MARKS: marked,
    Effect.CREATES: lambda manifest: _annotated(manifest, {FLUX_APPLY: "IfNotPresent"}),
    Effect.LEAN: lambda manifest: without(manifest, ("spec", "replicas")),
}
"""What changes an object of which something is asked."""
