"""A manifest that a user asks for: what it is written for, where it goes, how it is printed.

The words of `rebalance` become a WorkloadRebalancer.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.audit.previews.preview import Preview
from reconciler.audit.previews.wording import Heading, MergedJson, preview_json
from reconciler.cli.delivery import Delivery, ManifestOptions
from reconciler.cli.previews import print_preview
from reconciler.cli.printing import print_json
from reconciler.cli.world import note_if_empty, open_loader
from reconciler.core.inputs.index import inputs_in
from reconciler.errors import UsageError
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.records import dataclass
from reconciler.model.text import is_subdomain, shown
from reconciler.model.world import World
from reconciler.rebalance.target import REBALANCER
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.git.repository import Repository

FOLDER = "rebalancers"
LONGEST_STEM = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceWords:
    """What a person wants rebalanced, in the words of the command line."""

    targets: Sequence[str]
    selector: str | None
    policy: str | None
    on_cluster: str | None = None
    state: str | None = None
    namespace: str | None
    all_namespaces: bool
    max_moves: int | None
    make_before_break: bool
    preserve_available: bool
    rest: int | None
    ttl: int | None
    name: str | None

    @property
    def describes(self) -> bool:
        """Whether something is described, beside what is named."""
        described = (self.selector, self.policy, self.on_cluster, self.state)
        return any(word is not None for word in described)


def rebalancer_of(world: "World", demand: RebalanceWords) -> "tuple[ObjectKey, Body]":
    """Return the manifest, checked against the world.

    Raises:
        UsageError: It names what is not there, or nothing at all.
    """
    from reconciler.cli.previews import target_of
    from reconciler.manifests.identity import DEFAULT_NAMESPACE

    if not demand.targets and not demand.describes:
        raise UsageError(
            "no targets; give a KIND/NAME, --selector, --policy, --on-cluster or --state"
        )
    namespace = demand.namespace or DEFAULT_NAMESPACE
    spec: dict[str, object] = {}
    if demand.targets:
        targets = [target_of(world, word, namespace) for word in demand.targets]
        spec["workloads"] = [item for i, item in enumerate(targets) if item not in targets[:i]]
    selector = _selector(world, demand)
    if selector:
        spec["selector"] = selector
    limits: dict[str, object] = {"makeBeforeBreak": {}} if demand.make_before_break else {}
    if demand.max_moves is not None:
        limits["maxMoves"] = demand.max_moves
    if demand.preserve_available and limits:
        raise UsageError(
            "--preserve-available moves at once what serves nobody; omit --max-moves and "
            "--make-before-break"
        )
    if demand.preserve_available:
        spec["reschedule"] = {"preserveAvailableReplicas": True}
    if demand.rest is not None:
        limits["restSeconds"] = demand.rest
    if limits:
        spec["limits"] = limits
    if demand.ttl is not None:
        spec["ttlSecondsAfterFinished"] = demand.ttl
    key = ObjectKey(*REBALANCER, "", demand.name or _free_name(world, demand))
    check_name(world, key)
    api_version = f"{key.group}/v1alpha1"
    body = {
        "apiVersion": api_version,
        "kind": key.kind,
        "metadata": {"name": key.name},
        "spec": spec,
    }
    return key, body


def path_of(key: ObjectKey) -> str:
    """Return the file that a rebalancer is written to."""
    return f"{FOLDER}/{key.name}.yaml"


def _selector(world: "World", demand: RebalanceWords) -> dict[str, object]:
    """Return the description of the workloads that are meant besides the targets."""
    from reconciler.manifests.identity import DEFAULT_NAMESPACE

    selector: dict[str, object] = {}
    if not demand.describes:
        return selector
    wide = demand.all_namespaces or demand.policy is not None
    namespace = demand.namespace or (None if wide else DEFAULT_NAMESPACE)
    if namespace is not None and not demand.all_namespaces:
        selector["namespace"] = namespace
    if demand.selector is not None:
        selector["labelSelector"] = {"matchLabels": dict(_labels(demand.selector))}
    if demand.policy is not None:
        selector["policy"] = _policy(world, demand.policy)
    if demand.on_cluster is not None:
        from reconciler.audit.previews.edits import clusters_named

        selector["onCluster"] = clusters_named(world, demand.on_cluster)[0].name
    if demand.state is not None:
        selector["state"] = demand.state
    return selector


def _labels(text: str) -> Iterator[tuple[str, str]]:
    """Read `k=v,...`."""
    for part in text.split(","):
        key, equals, value = part.replace("==", "=").partition("=")
        if not equals or not is_label_key(key) or not is_label_value(value):
            raise UsageError(f"--selector {shown(part)} must be KEY=VALUE, such as app=shop")
        yield key, value


def _policy(world: "World", word: str) -> dict[str, str]:
    """Return the policy that `[NAMESPACE/]NAME` names, as a rebalancer refers to it."""
    import difflib

    from reconciler.rebalance.rebalancer_files import POLICY_KINDS, policy_key

    namespace, _, name = word.rpartition("/")
    reference = {"namespace": namespace, "name": name} if namespace else {"name": name}
    if policy_key(reference) in world.inputs:
        return reference
    fields = {
        f"{key.namespace}/{key.name}" if key.namespace else key.name
        for key in world.inputs
        if (key.group, key.kind) in POLICY_KINDS
    }
    near = [item for item in sorted(fields) if item.rpartition("/")[2] == name]
    near = near or difflib.get_close_matches(word, sorted(fields), n=3) or sorted(fields)[:3]
    said = f"; near it: {', '.join(near)}" if near else "; there is none at all"
    raise UsageError(
        f"there is no policy {shown(word)}, NAMESPACE/NAME of a policy or NAME of a cluster policy"
        f"{said}"
    )


def _free_name(world: "World", demand: RebalanceWords) -> str:
    """Return a name made of what is named first; one that was used would not run again."""
    first = [*demand.targets, demand.policy or "", demand.on_cluster or "", "selected"]
    words = next(word for word in first if word).lower().rpartition("/")
    stem = "".join(c if c.isascii() and c.isalnum() else "-" for c in words[2])
    return free_name(world, f"rebalance-{stem.strip('-') or 'selected'}"[:LONGEST_STEM])


def free_name(world: "World", stem: str) -> str:
    """Return a name that no rebalancer ever had here, made of a stem."""
    number, name = 1, stem
    while ObjectKey(*REBALANCER, "", name) in {**world.inputs, **world.outputs}:
        number += 1
        name = f"{stem}-{number}"
    return name


def check_name(world: "World", key: ObjectKey) -> None:
    """Refuse a name that cannot be written, or that has run already."""
    if not is_subdomain(key.name):
        raise UsageError(
            f"--name {shown(key.name)} must be lower-case letters, digits, '-' and '.', "
            "such as shop-back-to-primary"
        )
    if key in world.inputs or key in world.outputs:
        raise UsageError(f"rebalancer {shown(key.name)} already exists; give another --name")


def open_base(directory: Path, to: ManifestOptions) -> tuple[Delivery, World]:
    """Load the world that a manifest is written for, and return where it goes."""
    repository = Repository.open(directory)
    head = resolve_revision(repository, to.base)
    loader = open_loader(repository, to.layout)
    delivery = Delivery(
        directory=directory, repository=repository, base=head, branch=to.branch, author=to.author
    )
    world = loader.load(head)
    note_if_empty(directory, world)
    return delivery, world


def check_read(world: World, path: str) -> None:
    """Refuse to write a file that no pass would read.

    Raises:
        UsageError: None would.
    """
    if not inputs_in(world)(path):
        raise UsageError(
            f'"{path}" would not be read, since include and exclude in reconciler.yaml leave it '
            "out, or it is in a folder that passes write to; print the manifest with -o yaml "
            "--dry-run and put it where it is read"
        )


def write_manifest(
    delivery: Delivery, to: ManifestOptions, path: str, body: Body, subject: str
) -> str:
    """Write a manifest unless it is only shown, and return in words what to do next."""
    if to.dry_run:
        return "nothing is written (--dry-run)"
    return delivery.deliver({path: encode(body).encode()}, subject)


class RebalanceJson(TypedDict):
    """A manifest that is written, and what it moves."""

    path: Annotated[str, "The file that is written."]
    manifest: Annotated[Body, "What it holds."]
    plan: Annotated[MergedJson, "What the next pass would move."]


def print_manifest(to: ManifestOptions, body: Body, path: str, preview: Preview) -> None:
    """Print a manifest, and what it would move."""
    heading = Heading("plan", f"{path} merged into {to.base}")
    if to.output == "json":
        plan = preview_json(preview, heading)
        answer: RebalanceJson = {"path": path, "manifest": body, "plan": plan}
        print_json(answer)
        return
    click.echo(encode(body), nl=False)
    if to.output == "text":
        click.echo()
        print_preview(preview, heading, "text")
