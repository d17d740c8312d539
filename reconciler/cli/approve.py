"""An approval that a person gives: its manifest, where it is put, and what it would move.

Of a staged delivery it is an order among others, which stand in the manifest of that.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from reconciler.audit.named_object import find_object, spelled
from reconciler.audit.previews.edits import put
from reconciler.audit.previews.preview import look_ahead
from reconciler.cli.delivery import ManifestOptions, commit_subject
from reconciler.cli.edits import EditOptions, ObjectEdit, edit_objects
from reconciler.cli.new_manifests import check_read, open_base, print_manifest, write_manifest
from reconciler.cli.previews import moment_in
from reconciler.cli.progress import PASSES, doing
from reconciler.cli.world import open_fleet
from reconciler.core.dialects import DIALECTS, find_strategy
from reconciler.dialects.view import Approval
from reconciler.errors import UsageError
from reconciler.manifests.edits.fields import AppendItem
from reconciler.manifests.identity import DEFAULT_NAMESPACE
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.text import shown
from reconciler.model.world import Manifest, World
from reconciler.staging.content_run import GivenDelivery
from reconciler.staging.staged_delivery import (
    AFTER,
    BEFORE,
    STAGED_DELIVERY,
    ContentRun,
    OrderedAction,
    RunOrder,
    decode_staged_delivery,
    readable_staged_record,
)
from reconciler.staging.strategy import decode_stages

FOLDER = "approvals"
MESSAGE = "approved with reconciler approve"


def run(
    directory: Path,
    /,
    *,
    word: str,
    stage: str | None,
    message: str | None,
    namespace: str | None,
    to: ManifestOptions,
) -> int:
    """Write an approval, or show it; return the exit code."""
    delivery, world = open_base(directory, to)
    asking = _find(world, word, namespace or DEFAULT_NAMESPACE)
    approval = _chosen(world, asking, stage)
    if approval is None:
        what = f"{stage} of {spelled(asking)}" if stage else f"what {spelled(asking)} asks for"
        click.echo(f"{what} is approved already", err=True)
        return 0
    path = _path(world, approval.key)
    check_read(world, path)
    if not to.dry_run:
        delivery.check()
        if to.branch is None and (directory / path).exists() and approval.key not in world.inputs:
            raise UsageError(f'"{path}" already exists; move it away, or approve on a --branch')
    now = moment_in(world, None)
    body = approval.manifest(message or MESSAGE, format_moment(now))
    with doing(PASSES):
        preview = look_ahead(world, put(world, {approval.key: body}), now)
    subject = commit_subject(f"Approve {approval.stage} of {asking.name}")
    said = write_manifest(delivery, to, path, body, subject)
    print_manifest(to, body, path, preview)
    click.echo(said, err=True)
    return 0


def order(
    directory: Path,
    /,
    *,
    action: str,
    name: str,
    stage: str | None,
    task: str | None,
    to: EditOptions,
) -> int:
    """Order something of the run of a staged delivery, or show it; return the exit code."""
    ordered = OrderedAction[action.upper()]
    approves = ordered is OrderedAction.APPROVE
    if (stage or task) and not approves:
        raise UsageError(f"a stage is approved only; {action} is about the whole run")
    key = ObjectKey(*STAGED_DELIVERY, "", name.removeprefix(f"{STAGED_DELIVERY[1].lower()}/"))

    def edits(world: World) -> list[ObjectEdit]:
        output = _record_of(directory, to, world, key)
        if key not in world.inputs:
            raise UsageError(_not_there(key, output))
        run = None if output is None else readable_staged_record(output.body).run
        if output is None or run is None:
            raise UsageError(f"no content of {spelled(key)} has changed yet, so it has no run")
        manifest = world.inputs[key]
        asked = decode_staged_delivery(manifest.body)
        strategy = find_strategy(world, asked.strategy)
        stages = () if strategy is None else decode_stages(mapping(strategy.body, "spec"))
        given, _ = GivenDelivery.admitted(manifest, asked, output, stages, run.started_at)
        approved = _approved(run, given, stage, task) if approves and not run.is_over else ()
        wanted = RunOrder(run.id, given.generation, ordered, *approved)
        if refusal := given.refusal_of(wanted, run):
            raise UsageError(refusal.why)
        said = f"{action} {run.id}"
        # Carried out once: one that is there may still be to come, but an approval lasts.
        done = 0 if approves else (*run.heeded, *run.vain).count(wanted.text)
        is_there = asked.orders.count(wanted) > done
        item = {name: value for name, value in wanted._asdict().items() if value != ""}
        steps = () if is_there else (AppendItem(("spec", "orders"), item),)
        is_already = _standing(directory, to, manifest, run, wanted) if is_there else ""
        return [ObjectEdit(key=key, steps=steps, becomes=said, is_already=is_already)]

    return edit_objects(directory, to, edits, lambda names: f"{action.capitalize()} {names}")


def _standing(
    directory: Path, to: EditOptions, manifest: Manifest, run: ContentRun, wanted: RunOrder
) -> str:
    """Return what has become of an order that stands in its manifest."""
    if wanted.text in run.heeded and wanted.action is OrderedAction.APPROVE:
        when = "before" if wanted.task == BEFORE else "after"
        return f"has approval {when} stage {wanted.stage} already"
    written = decode_staged_delivery(manifest.body).orders
    committed = open_fleet(directory, to.layout).world().inputs.get(manifest.key)
    orders = () if committed is None else decode_staged_delivery(committed.body).orders
    is_committed = orders.count(wanted) == written.count(wanted)
    follows = "the next pass carries it out" if is_committed else "it is not committed yet"
    return f"has this order already in {manifest.origin.path}; {follows}"


def _not_there(key: ObjectKey, output: Manifest | None) -> str:
    """Return that there is no staged delivery, and how what it left goes on."""
    held = output is not None and readable_staged_record(output.body).objects
    if not held:
        return f"there is no {spelled(key)}"
    goes_on = "write it again to begin another run, or change their content"
    return f"{spelled(key)} was deleted, and clusters keep what they have of its objects: {goes_on}"


def _record_of(directory: Path, to: EditOptions, world: World, key: ObjectKey) -> Manifest | None:
    """Return the status file of a staged delivery, from the branch of the outputs if need be."""
    output = world.outputs.get(key)
    if output is None and to.layout.apart:
        with open_fleet(directory, to.layout).sides(base="HEAD") as sides:
            output = sides.merged.outputs.get(key)
    return output


def _approved(
    run: ContentRun, given: GivenDelivery, name: str | None, task: str | None
) -> tuple[str, str]:
    """Return stage and task that are approved: what the run waits for, unless one is named.

    Raises:
        UsageError: No stage is named, and no approval is awaited.
    """
    awaited = run.awaited_approval
    if name is None and awaited is None:
        reason = f" ({run.reason})" if run.reason else ""
        raise UsageError(f"the run {run.id} does not await approval{reason}; name a stage")
    if awaited is not None and name in (None, awaited[0]) and task is None:
        return awaited
    named = name or ("" if awaited is None else awaited[0])
    if task is not None:
        return named, AFTER if task == "after" else BEFORE
    return named, next(iter(given.approvals(named)), BEFORE)


def _find(world: World, word: str, namespace: str) -> ObjectKey:
    """Return the object that asks for approval: by KIND/NAME, or by its name alone.

    Raises:
        UsageError: There is none, or several have the name.
    """
    kinds = [kind for dialect in DIALECTS for kind in sorted(dialect.approvable)]
    staged = ObjectKey(*STAGED_DELIVERY, "", word.rpartition("/")[2])
    if "/" in word:
        key = find_object(world, word, namespace)
        if key[:2] == STAGED_DELIVERY:
            raise UsageError(f"approve it by reconciler rollout approve {key.name}")
        if key[:2] not in kinds:
            names = ", ".join(kind for _, kind in kinds)
            raise UsageError(f"{spelled(key)} cannot be approved; only: {names}")
        found = [key] if key in world.inputs else []
    else:
        places = ((kind, namespace if world.known.scopes[kind] else "") for kind in kinds)
        keys = [ObjectKey(*kind, place, word) for kind, place in places]
        found = [key for key in keys if key in world.inputs]
    if not found and staged in world.inputs:
        raise UsageError(f"approve it by reconciler rollout approve {staged.name}")
    if not found:
        raise UsageError(f"there is no {shown(word)} to approve")
    if len(found) > 1:
        raise UsageError(
            f"{shown(word)} is ambiguous; name one of {', '.join(map(spelled, found))}"
        )
    return found[0]


def _chosen(world: World, asking: ObjectKey, stage: str | None) -> Approval | None:
    """Return what is to be approved: what is asked now, else the first of a stage that may come.

    `None` stands for one that was approved already.

    Raises:
        UsageError: Nothing is asked, or there is no such stage.
    """
    view = next(one for one in DIALECTS if asking[:2] in one.approvable).view()
    approvals: Sequence[Approval] = view.world.approvals(world, asking)
    if asking not in world.outputs:
        raise UsageError(f"no pass has processed {spelled(asking)} yet, so it cannot be approved")
    if stage is not None:
        of_stage = [one for one in approvals if one.stage == stage]
        if not of_stage:
            stages = ", ".join(dict.fromkeys(one.stage for one in approvals)) or "none"
            raise UsageError(
                f"{spelled(asking)} does not await approval of stage {shown(stage)}; only: {stages}"
            )
        approvals = of_stage
    open_ones = [one for one in approvals if not one.is_done]
    asked = [one for one in open_ones if one.is_asked]
    if asked or (stage is not None and open_ones):
        return (asked or open_ones)[0]
    if stage is not None:
        return None
    if any(one.is_asked for one in approvals):
        return None  # by a file that no pass has seen yet
    later = ", ".join(dict.fromkeys(one.stage for one in open_ones))
    hint = f"; name a stage to approve it in advance: {later}" if later else ""
    raise UsageError(f"{spelled(asking)} does not await approval{hint}")


def _path(world: World, key: ObjectKey) -> str:
    """Return the file of an approval: that which says something else of it by now, or a new one.

    Raises:
        UsageError: That file holds other objects, too.
    """
    present = world.inputs.get(key)
    if present is None:
        scope = f"{key.namespace}/" if key.namespace else ""
        return f"{FOLDER}/{scope}{key.name}.yaml"
    path = present.origin.path
    others = [k for k, one in world.inputs.items() if one.origin.path == path and k != key]
    if others:
        raise UsageError(
            f"{path} has an approval of this name that counts for nothing, beside other objects; "
            "take it out first"
        )
    return path
