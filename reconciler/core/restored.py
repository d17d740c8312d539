"""Objects that go back to where an earlier pass had them, since an annotation asks for it.

Where passes write to a branch of their own, people cannot bring outputs back in the commit in which
they take the causes back. So they name the commit whose outputs an object is to go on from, and
the next pass takes these for what it finds: as if somebody had reverted them just before. The pass
after it finds the annotation as it was at the last pass, and the object in its place.

The commit is one of the branch with the outputs, which the shell sees to; nobody else's count.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from reconciler.core.changes import Outcome
from reconciler.core.dialects import clusters_in, decision_on, dialect_of
from reconciler.core.inputs.index import key_of
from reconciler.core.inputs.validation import FileValidation
from reconciler.core.own_outputs import own_outputs
from reconciler.core.safety import is_of
from reconciler.manifests.admission import RESTORE
from reconciler.model.decision import Cause, CauseKind, Decision, Placed, joined_causes
from reconciler.model.fields import at
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import replace
from reconciler.model.remembered import branched
from reconciler.model.text import short_id
from reconciler.model.world import Fault, FormerOutputs, Manifest, World

_RULE = "restore-commit"
"""What a request breaks that names no commit of ours."""

Refused = frozenset[tuple[str, str]]
"""Path and subject of requests that the last pass refused; they are still asked for."""


def refused_in(recorded: Iterable[Fault]) -> Refused:
    """Return which requests are among the faults that the last pass recorded."""
    return frozenset((one.path, one.subject) for one in recorded if one.rule == _RULE)


def asks(file: FileValidation | None) -> bool:
    """Return whether any object of a file names a commit."""
    return any(True for _ in _asked_in(file, {}))


def asked_since(
    file: FileValidation | None,
    then: FileValidation | None,
    scopes: Mapping[Kind, bool],
    refused: Refused,
) -> Iterator[tuple[ObjectKey, ObjectKey, str]]:
    """Yield what a file asks for since the last pass: object, what decisions on it bear, commit.

    Args:
        file: As it is, `None` if it is gone.
        then: As it was at the last pass, `None` if it was not there.
        scopes: Whether kinds are namespaced.
        refused: Requests that count as new.
    """
    known = dict(_asked_in(then, scopes))
    for about, commit in _asked_in(file, scopes):
        owner = decision_on(about)
        is_new = known.get(about) != commit or (file and (file.path, str(about)) in refused)
        if owner is not None and is_new:
            yield about, owner, commit


def _asked_in(
    file: FileValidation | None, scopes: Mapping[Kind, bool]
) -> Iterator[tuple[ObjectKey, str]]:
    """Yield the objects of a file that name a commit, and which."""
    for document in () if file is None else file.documents:
        named = at(document.body, "metadata", "annotations").get(RESTORE)
        if file is not None and isinstance(named, str) and named:
            yield key_of(file.path, document, scopes), named


def unknown_commit(manifest: Manifest) -> Fault:
    """Return what is told of a commit that is none of the branch with the outputs."""
    return Fault(
        path=manifest.origin.path,
        line=manifest.origin.line,
        column=0,
        field=f"/metadata/annotations/{RESTORE.replace('/', '~1')}",
        rule=_RULE,
        message=f"{RESTORE} names no commit of the branch with the outputs, so nothing is restored",
        expected="the full id of such a commit, as `reconciler undo` writes it",
        subject=str(manifest.key),
    )


def with_restored(world: World) -> World:
    """Return a world in which objects have the outputs that they are to go on from.

    What stands in the files is then not as it should be, and is put right like any edit. The very
    same world where nothing is to be restored.
    """
    if not world.restoring:
        return world
    came = {one.key: one for asked in world.restoring for one in asked.outputs}
    gone = [one for one in _present(world) if one.key not in came]
    return replace(
        world,
        outputs=branched(world.outputs, came, [one.key for one in gone]),
        inexact={
            **world.inexact,
            **{one.origin.path: one.key for one in came.values()},
            **{one.origin.path: None for one in gone},
        },
        output_kinds=world.output_kinds.next(),
    )


def told_restored(world: World, restored: World, outcome: Outcome) -> Outcome:
    """Return what a pass did, with every object that went back, from where it really was.

    Args:
        world: As the pass found it.
        restored: The same as `with_restored` had it.
        outcome: Of the pass over that.
    """
    if restored is world:
        return outcome
    decided = {one.key: one for one in outcome.decisions}
    for asked in world.restoring:
        had, back = (_placed(asked.owner, one.outputs.values()) for one in (world, restored))
        known = decided.get(asked.owner)
        if had != (back if known is None else known.after):
            decided[asked.owner] = _decision(asked, had, back, known)
    return replace(outcome, decisions=tuple(decided[key] for key in sorted(decided)))


def _decision(asked: FormerOutputs, had: Placed, back: Placed, known: Decision | None) -> Decision:
    """Return what became of an object that went back; a pass may have moved it on from there."""
    cause = Cause(CauseKind.RESTORED, f"as of {short_id(asked.commit)}", sources=(asked.about,))
    if known is not None:
        moved_on = [known.cause] if known.before != known.after else []
        return replace(known, before=had, cause=joined_causes([cause, *moved_on]))
    about = asked.about
    name = f"{about.namespace}/{about.name}" if about.namespace else about.name
    return Decision(asked.owner, name, cause, had, back)


def outputs_about(owner: ObjectKey, outputs: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield those of some outputs that are a decision, or belong to it."""
    yield from (one for one in outputs if is_of(one.key, one.body, (owner,)))


def _present(world: World) -> Iterator[Manifest]:
    """Yield the outputs of the objects that go back, as they are."""
    for asked in world.restoring:
        chosen = own_outputs(asked.owner, world.output_root)
        near = (one for one in world.outputs.values() if chosen(one.origin.path))
        yield from outputs_about(asked.owner, near)


def _placed(owner: ObjectKey, outputs: Collection[Manifest]) -> Placed:
    """Return where an object is, told from outputs among which its own are."""
    dialect = dialect_of(owner.group)
    if dialect is None:
        return ()
    kind = dialect.parts.get(owner[:2], owner[:2])
    return clusters_in(outputs_about(owner, (one for one in outputs if one.key[:2] == kind)))
