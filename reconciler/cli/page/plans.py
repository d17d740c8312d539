"""What merging a branch would move, and what if something happened: forms and their answers.

The page and the report ask for a merge in the same way. A change that a verb would write about
objects is composed here as a pull request; nothing is written.
"""

import difflib
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reconciler.audit.named_object import spelled
from reconciler.audit.previews.preview import Preview, look_ahead
from reconciler.audit.previews.wording import Heading
from reconciler.cli.tables import typed_name
from reconciler.core.dialects import PLACED, decision_on
from reconciler.errors import ReconcilerError, UsageError
from reconciler.library.fleet import FleetRepository, moment_of
from reconciler.model.fields import bodies, mapping
from reconciler.model.text import short_id
from reconciler.page.lists import called
from reconciler.page.objects import MOST_COMPOSED
from reconciler.page.rendering import PagePart
from reconciler.page.timeline import ComposedView, plan_view

if TYPE_CHECKING:
    from reconciler.cli.new_manifests import RebalanceWords
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World


ASKED = ("fail", "cordon", "scale")


class AskPlan(NamedTuple):
    """The form that asks for a plan."""

    branch: str
    branches: Sequence[str]
    problem: str


class AskWhatIf(NamedTuple):
    """The form that asks what if; `workloads` are named where they are few."""

    fail: str
    cordon: str
    scale: str
    namespace: str
    clusters: Sequence[str]
    namespaces: Sequence[str]
    workloads: Sequence[str]
    problem: str


MOST_NAMED = 500  # workloads to choose from; of more the name is typed


def plan_parts(fleet: "FleetRepository", base: tuple[str, str], branch: str) -> list[PagePart]:
    """Return what merging a branch would move, or the form that asks for it.

    Args:
        fleet: The repository.
        base: What it is merged into: as people call it, and its full hex id.
        branch: What is merged, `""` for the form alone.
    """
    problem, parts = "", []
    if branch:
        from reconciler.page.timeline import plan_view

        try:
            moves = plan_view(*planned(fleet, base, branch))
            parts = [PagePart("moves", "plan.html", moves)]
        except ReconcilerError as error:
            problem = str(error)
    branches = [name for name in fleet.repository.branches() if name != base[0]]
    form = AskPlan(branch, branches, problem)
    return [PagePart("plan", "ask_plan.html", form), *parts]


def what_if_parts(world: "World", query: Mapping[str, str]) -> list[PagePart]:
    """Return what would move if something happened, or the form that asks for it."""
    from reconciler.audit.previews.edits import clusters_of

    asked = {name: query.get(name, "").strip() for name in ASKED}
    namespace = query.get("namespace", "") or "default"
    problem, parts = "", []
    if any(asked.values()):
        try:
            parts = [PagePart("moves", "plan.html", _simulated(world, asked, namespace))]
        except UsageError as error:
            problem = str(error)
    placed = {
        key for key in world.inputs if key[:2] not in PLACED and decision_on(key) in world.outputs
    }
    form = AskWhatIf(
        **asked,
        namespace=namespace,
        clusters=sorted({key.name for key in clusters_of(world)}),
        namespaces=sorted({namespace, *(key.namespace for key in placed if key.namespace)}),
        workloads=sorted(map(called, placed)) if len(placed) <= MOST_NAMED else (),
        problem=problem,
    )
    return [PagePart("what-if", "ask_what_if.html", form), *parts]


def _simulated(world: "World", asked: Mapping[str, str], namespace: str) -> object:
    """Return what would move, as `simulate` says it."""
    from reconciler.audit.previews.preview import look_ahead
    from reconciler.audit.previews.wording import Heading
    from reconciler.cli.previews import AFTER_FAILURE_SECONDS, WhatIf, edited, moment_in
    from reconciler.model.moments import add, span
    from reconciler.page.timeline import plan_view

    happens = moment_in(world, None)
    fail, cordon, scale = ([asked[name]] if asked[name] else [] for name in ASKED)
    what_if = WhatIf(fail=fail, cordon=cordon, scale=scale)
    changed, said = edited(world, what_if, namespace, happens)
    later = AFTER_FAILURE_SECONDS if asked["fail"] else 0
    preview = look_ahead(world, changed, add(happens, span(seconds=later)))
    elapsed = [f"{later} seconds later"] if later else []
    return plan_view(preview, Heading("simulation", ", ".join([*said, *elapsed])))


HIDDEN = "the file has a Secret, so its difference is not shown"


def composed_change(
    fleet: "FleetRepository",
    world: "World",
    base: tuple[str, str],
    verb: str,
    keys: "Sequence[ObjectKey]",
) -> tuple[str, list[PagePart]]:
    """Return the title of a change, and its parts: the change, and what it would move.

    Args:
        fleet: The repository.
        world: As it is.
        base: The branch that it is proposed for: as people call it, and its full hex id.
        verb: `rebalance`, or `suspend`, which resumes objects that are all suspended.
        keys: The objects.

    Raises:
        UsageError: There is no such object, the verb can do nothing with one, or they are none or
            too many.
    """
    if not 0 < len(keys) <= MOST_COMPOSED:
        raise UsageError(
            f"{len(keys)} objects are chosen; one change takes 1 to {MOST_COMPOSED}, "
            "so filter the list of objects first"
        )
    if verb == "rebalance":
        view, preview = _rebalance(world, base[0], keys)
        word = "Rebalance"
    else:
        view, preview, resumes = _suspend(fleet, world, keys)
        word = "Resume" if resumes else "Suspend"
    what = spelled(keys[0]) if len(keys) == 1 else f"{len(keys)} objects"
    heading = Heading("plan", f"{view.path} merged into {base[0]}")
    return f"{word} {what}", [
        PagePart("composed", "composed.html", view),
        PagePart("moves", "plan.html", plan_view(preview, heading)),
    ]


def _rebalance(
    world: "World", branch: str, keys: "Sequence[ObjectKey]"
) -> tuple[ComposedView, "Preview"]:
    """Return a rebalancer of some objects, and what it would move."""
    from reconciler.cli.new_manifests import check_read, path_of, rebalancer_of
    from reconciler.cli.rebalance import plan_rebalance
    from reconciler.manifests.text.emitter import encode

    spaces = list(dict.fromkeys(key.namespace for key in keys))
    names = {one: [typed_name(key) for key in keys if key.namespace == one] for one in spaces}
    made, *others = (rebalancer_of(world, _words(names[one], one)) for one in spaces)
    key, body = made
    if others:
        body = _joined([body, *(one for _, one in others)])
    check_read(world, path_of(key))
    preview, unmatched = plan_rebalance(world, key, body)
    words = ["reconciler", "rebalance", *names[spaces[0]], *_scope(keys[0]), f"--name={key.name}"]
    view = ComposedView(
        path=path_of(key),
        lines=encode(body).splitlines(),
        is_new=True,
        command="" if others else shlex.join([*words, f"--base={branch}", f"--branch={key.name}"]),
        said=unmatched,
    )
    return view, preview


def _words(targets: "Sequence[str]", namespace: str) -> "RebalanceWords":
    """Return what a person would write to have objects of one namespace rebalanced."""
    from reconciler.cli.new_manifests import RebalanceWords

    return RebalanceWords(
        targets=targets,
        selector=None,
        policy=None,
        namespace=namespace or None,
        all_namespaces=False,
        max_moves=None,
        make_before_break=False,
        preserve_available=False,
        rest=None,
        ttl=None,
        name=None,
    )


def _joined(made: "Sequence[Body]") -> "Body":
    """Return one rebalancer of the targets of several."""
    specs = [mapping(one, "spec") for one in made]
    targets = [target for spec in specs for target in bodies(spec, "workloads")]
    return {**made[0], "spec": {**specs[0], "workloads": targets}}


def _suspend(
    fleet: "FleetRepository", world: "World", keys: "Sequence[ObjectKey]"
) -> tuple[ComposedView, "Preview", bool]:
    """Return the edits that suspend objects, or resume them, what they would move, and which."""
    from reconciler.audit.fleet.suspensions import suspenders_of
    from reconciler.audit.previews.edits import put
    from reconciler.audit.previews.preview import look_ahead
    from reconciler.core.record import next_moment
    from reconciler.shell.resources import SystemClock

    held = [key for key in keys if any(one.key == key for one in suspenders_of(world, key))]
    resumes = len(held) == len(keys)
    wanted = keys if resumes else [key for key in keys if key not in held]
    files, after = _edited(fleet, world, wanted, suspend=not resumes)
    now = max(next_moment(world, SystemClock().now()), SystemClock().now())
    verb = "resume" if resumes else "suspend"
    hidden = [path for path, (before, _) in files.items() if b"Secret" in before]
    shown = [(path, sides) for path, sides in files.items() if path not in hidden]
    view = ComposedView(
        path=next(iter(files)) if len(files) == 1 else f"{len(files)} files",
        lines=[line for path, sides in shown for line in _difference(path, *sides)],
        is_new=False,
        command=_holding(verb, wanted),
        said=[f"{path}: {HIDDEN}" if len(files) > 1 else HIDDEN for path in hidden],
    )
    return view, look_ahead(world, put(world, after), now), resumes


def _edited(
    fleet: "FleetRepository", world: "World", keys: "Sequence[ObjectKey]", *, suspend: bool
) -> "tuple[dict[str, tuple[bytes, bytes]], dict[ObjectKey, Body]]":
    """Return the files that are edited, before and after, and the documents of the objects."""
    from reconciler.cli.suspend import suspension_edit
    from reconciler.manifests.text.reader import read
    from reconciler.shell.git.objects import read_file

    repository = fleet.repository
    prefix = f"{repository.prefix}/" if repository.prefix else ""
    contents: dict[str, tuple[bytes, bytes]] = {}
    after: dict[ObjectKey, Body] = {}

    def files(path: str) -> bytes:
        if path in contents:
            return contents[path][1]  # another object of the same file was edited before
        return read_file(repository, world.revision, f"{prefix}{path}") or b""

    for key in keys:
        edit = suspension_edit(world, files, typed_name(key), key.namespace, suspend=suspend)
        before, _ = contents.get(edit.path, (edit.before, b""))
        contents[edit.path] = before, edit.after
        index = world.inputs[key].origin.index
        documents = read(edit.after, edit.path).documents
        after[key] = next(d.body for d in documents if d.index == index)
    return contents, after


def _holding(verb: str, keys: "Sequence[ObjectKey]") -> str:
    """Return the commands that suspend or resume: of one object onto a branch of its own."""
    if len(keys) == 1:
        words = ["reconciler", verb, typed_name(keys[0]), *_scope(keys[0])]
        return shlex.join([*words, f"--branch={verb}-{keys[0].name}"])
    each = (shlex.join(["reconciler", verb, typed_name(key), *_scope(key)]) for key in keys)
    return " && ".join(each)


def _difference(path: str, before: bytes, after: bytes) -> list[str]:
    """Return an edit as a patch that `git apply` takes."""
    old, new = (data.decode("utf-8").splitlines() for data in (before, after))
    return list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))


def _scope(key: "ObjectKey") -> list[str]:
    return [f"--namespace={key.namespace}"] if key.namespace else []


def planned(fleet: FleetRepository, base: tuple[str, str], branch: str) -> tuple[Preview, Heading]:
    """Return what merging a branch would move.

    Args:
        fleet: The repository.
        base: What it is merged into: as people call it, and its full hex id.
        branch: What is merged.

    Raises:
        UsageError: There is no such branch, or it cannot be merged.
    """
    name, revision = base
    with fleet.sides(base=revision, head=branch) as sides:
        preview = look_ahead(
            sides.base, sides.merged, moment_of(sides, None), settled=sides.settled
        )
    head = f"{branch} ({short_id(sides.head_revision)})"
    return preview, Heading("plan", f"{head} merged into {name} ({short_id(revision)})")
