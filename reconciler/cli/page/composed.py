"""What a verb would write about an object, as a pull request: composed here, written by nobody."""

import difflib
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from reconciler.audit.named_object import spelled
from reconciler.audit.previews.wording import Heading
from reconciler.cli.objects.object_tables import typed_name
from reconciler.page.composed import ComposedView
from reconciler.page.plan import plan_view
from reconciler.page.rendering import PagePart

if TYPE_CHECKING:
    from reconciler.audit.previews.preview import Preview
    from reconciler.library.fleet import FleetRepository
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World

Files = Callable[[str], bytes]
HIDDEN = "the file has a Secret, so its difference is not shown"


def composed_change(
    fleet: "FleetRepository", world: "World", base: tuple[str, str], verb: str, key: "ObjectKey"
) -> tuple[str, list[PagePart]]:
    """Return the title of a change, and its parts: the change, and what it would move.

    Args:
        fleet: The repository.
        world: As it is.
        base: The branch that it is proposed for: as people call it, and its full hex id.
        verb: `rebalance`, or `suspend`, which resumes what is suspended.
        key: The object.

    Raises:
        UsageError: There is no such object, or the verb can do nothing with it.
    """
    if verb == "rebalance":
        view, preview = _rebalance(world, base[0], key)
        title = f"Rebalance {spelled(key)}"
    else:
        view, preview, resumes = _suspend(fleet, world, key)
        title = f"{'Resume' if resumes else 'Suspend'} {spelled(key)}"
    heading = Heading("plan", f"{view.path} merged into {base[0]}")
    return title, [
        PagePart("composed", "composed.html", view),
        PagePart("moves", "plan.html", plan_view(preview, heading)),
    ]


def _rebalance(world: "World", branch: str, key: "ObjectKey") -> tuple[ComposedView, "Preview"]:
    """Return a rebalancer of one object, and what it would move."""
    from reconciler.cli.edits.demand import RebalanceWords, path_of, rebalancer_of
    from reconciler.cli.edits.new_manifest import check_read
    from reconciler.cli.edits.rebalance import plan_rebalance
    from reconciler.manifests.text.emitter import encode

    word = typed_name(key)
    asked = RebalanceWords(
        targets=[word],
        selector=None,
        policy=None,
        namespace=key.namespace or None,
        all_namespaces=False,
        max_moves=None,
        ttl=None,
        name=None,
    )
    made, body = rebalancer_of(world, asked)
    check_read(world, path_of(made))
    preview, unmatched = plan_rebalance(world, made, body)
    words = ["reconciler", "rebalance", word, *_scope(key), f"--name={made.name}"]
    view = ComposedView(
        path=path_of(made),
        lines=encode(body).splitlines(),
        is_new=True,
        command=shlex.join([*words, f"--base={branch}", f"--branch={made.name}"]),
        said=unmatched,
    )
    return view, preview


def _suspend(
    fleet: "FleetRepository", world: "World", key: "ObjectKey"
) -> tuple[ComposedView, "Preview", bool]:
    """Return the edit that suspends an object, or resumes it, what it would move, and which."""
    from reconciler.audit.fleet.suspensions import suspenders_of
    from reconciler.audit.previews.edits import put
    from reconciler.audit.previews.look_ahead import look_ahead
    from reconciler.cli.edits.suspension import suspension_edit
    from reconciler.core.record import next_moment
    from reconciler.manifests.text.reader import read
    from reconciler.shell.clock import SystemClock
    from reconciler.shell.git.objects import read_file

    repository, word = fleet.repository, typed_name(key)
    prefix = f"{repository.prefix}/" if repository.prefix else ""

    def files(path: str) -> bytes:
        return read_file(repository, world.revision, f"{prefix}{path}") or b""

    resumes = any(one.key == key for one in suspenders_of(world, key))
    edit = suspension_edit(world, files, word, key.namespace, suspend=not resumes)
    index = world.inputs[key].origin.index
    after = next(d.body for d in read(edit.after, edit.path).documents if d.index == index)
    now = max(next_moment(world, SystemClock().now()), SystemClock().now())
    preview = look_ahead(world, put(world, {key: after}), now)
    verb = "resume" if resumes else "suspend"
    words = ["reconciler", verb, word, *_scope(key), f"--branch={verb}-{key.name}"]
    hidden = b"Secret" in edit.before
    view = ComposedView(
        path=edit.path,
        lines=() if hidden else _difference(edit.path, edit.before, edit.after),
        is_new=False,
        command=shlex.join(words),
        said=(HIDDEN,) if hidden else (),
    )
    return view, preview, resumes


def _difference(path: str, before: bytes, after: bytes) -> list[str]:
    """Return an edit as a patch that `git apply` takes."""
    old, new = (data.decode("utf-8").splitlines() for data in (before, after))
    return list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))


def _scope(key: "ObjectKey") -> list[str]:
    return [f"--namespace={key.namespace}"] if key.namespace else []
