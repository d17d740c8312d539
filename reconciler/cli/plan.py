"""What merging would move, in words or for machines: of one root, or of each root of a pattern."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.audit.findings import Finding, Severity
from reconciler.audit.fleet.placed import named
from reconciler.audit.named_object import decided_key, find_object
from reconciler.audit.previews.preview import Preview, look_ahead, manifest_changes, narrowed
from reconciler.audit.previews.wording import Heading, MergedJson
from reconciler.cli.options import EXIT_FORBIDDEN, Forbidden, report_forbidden
from reconciler.cli.previews import facts_json, print_manifest_changes, print_preview
from reconciler.cli.printing import print_json
from reconciler.cli.progress import PASSES, doing
from reconciler.cli.world import fleet_of, note_if_empty, open_fleet
from reconciler.core.asked import changed_keys
from reconciler.dialects.view import Warned
from reconciler.errors import ShellError, UsageError
from reconciler.library.fleet import FleetRepository, moment_of
from reconciler.manifests.identity import CRD, DEFAULT_NAMESPACE
from reconciler.manifests.selectors import parse_selector
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.labels import labels_of, matches
from reconciler.model.records import dataclass, replace
from reconciler.model.text import short_id
from reconciler.model.world import Manifest
from reconciler.shell.git.history import find_roots, resolve_revision
from reconciler.shell.reading.merge_preview import Sides
from reconciler.shell.resources import load_kubernetes

EXIT_CHANGES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """What is compared, and what of that is shown.

    Attributes:
        base: The revision that is merged into, `None` for the branch that is served.
        branch: The name of that, `None` for `main`.
        head: The revision that is merged, `None` for the files of the checkout.
        now: The moment of the passes, `None` for the clock's.
        namespace: Only objects of this namespace, `None` for all.
        selector: Only objects with these labels, `None` for all.
        only: Only these objects, as `KIND/NAME`; none for all.
        manifests: Whether the manifests of clusters are compared, too.
        kubernetes: The version of Kubernetes that clusters run, as for `load_kubernetes`.
    """

    base: str | None
    branch: str | None
    head: str | None
    now: datetime | None
    namespace: str | None
    selector: str | None
    only: tuple[str, ...]
    manifests: bool
    kubernetes: str

    @property
    def chooses(self) -> str:
        """What narrows the plan down, in words; `""` if nothing does."""
        space = "" if self.namespace is None else f"namespace {self.namespace}"
        return ", ".join(filter(None, (space, self.selector, *self.only)))


def run(
    directory: Path,
    question: PlanQuestion,
    *,
    roots: tuple[str, ...],
    worktree: bool,
    output: str,
    detailed_exitcode: bool,
    conditions: tuple[Forbidden, ...],
    layout: RepositoryLayout,
) -> int:
    """Show what merging would move; return the exit code."""
    if question.manifests and output != "text":
        raise UsageError("--manifests supports only text; omit -o")
    if worktree and question.head is not None:
        raise UsageError("--worktree and --head exclude each other")
    if roots and output not in ("text", "markdown", "json"):
        raise UsageError(f"--roots does not support -o {output}; plan one root with -C")
    fleets = [open_fleet(directory, layout)]
    try:
        if roots:
            fleets = _below(fleets[0], roots, question.head)
        answers = [_plan(fleet, question, output, listed=bool(roots)) for fleet in fleets]
    except UsageError as error:
        if detailed_exitcode:
            raise ShellError(str(error)) from error
        raise
    if roots and output == "json":
        print_json({"roots": [facts for _, facts in answers]})
    forbidden = [report_forbidden(found, conditions) for found, _ in answers]  # each is told
    if any(forbidden):
        return EXIT_FORBIDDEN
    return EXIT_CHANGES if detailed_exitcode and any(one.changes for one, _ in answers) else 0


def _below(
    top: FleetRepository, patterns: Sequence[str], head: str | None
) -> list[FleetRepository]:
    """Return the roots that match a pattern in the base or in what is merged.

    Raises:
        UsageError: None does.
    """
    repository = top.repository
    names = find_roots(repository, resolve_revision(repository, head or "HEAD"), patterns)
    if not names:
        asked = " ".join(f"--roots {pattern}" for pattern in patterns)
        raise UsageError(f"{asked}: no such folder has a reconciler.yaml")
    return [fleet_of(top.directory / name, repository.below(name), top.layout) for name in names]


class BaseJson(TypedDict):
    """What is merged into."""

    name: Annotated[str, "As it was asked for."]
    commit: Annotated[str, "Full hex id."]


class HeadJson(TypedDict):
    """What is merged."""

    name: Annotated[str, "As it was asked for."]
    commit: Annotated[str, "Full hex id."]
    uncommitted: Annotated[int, "How many files are merged that are not committed."]


class PlanFactsJson(TypedDict):
    """What a plan compares."""

    root: Annotated[str, 'The folder below the top of the repository, `""` for the top.']
    shown: Annotated[str, 'The objects that are shown, `""` for all.']
    hidden: Annotated[int, "How many other objects change."]
    base: Annotated[BaseJson, "What is merged into."]
    head: Annotated[HeadJson, "What is merged."]


class PlanJson(PlanFactsJson, MergedJson):
    """What merging would move."""


class RootPlansJson(TypedDict):
    """What merging would move in several roots."""

    roots: Annotated[list[PlanJson], "The plan of each root, by the names of their folders."]


def _plan(
    fleet: FleetRepository, question: PlanQuestion, output: str, *, listed: bool
) -> tuple[Preview, Mapping[str, object]]:
    """Print the plan of one root, unless it is one of a list in JSON; return it, and as data."""
    with fleet.sides(base=question.base, head=question.head, branch=question.branch) as sides:
        note_if_empty(fleet.directory, sides.base, sides.merged)
        at = moment_of(sides, question.now)
        with doing(PASSES):
            preview = look_ahead(
                sides.base, sides.merged, at, settled=sides.settled, roots=sides.roots
            )
            changed = manifest_changes(sides.base, sides.merged, at) if question.manifests else None
            preview = _with_refusals(preview, sides, question.kubernetes)
        if question.chooses:
            preview = narrowed(preview, _chosen(sides, question), question.chooses)
    root = fleet.repository.prefix
    heading = Heading("plan", _of(sides), root)
    facts: PlanFactsJson = {
        "root": root,
        "shown": preview.shown,
        "hidden": preview.hidden,
        "base": {"name": sides.base_name, "commit": sides.base_revision},
        "head": {
            "name": sides.head_name,
            "commit": sides.head_revision,
            "uncommitted": sides.uncommitted,
        },
    }
    if listed and output == "json":
        return preview, facts_json(preview, heading, facts)
    print_preview(preview, heading, output, facts)
    if listed:
        click.echo()
    if changed is not None:
        print_manifest_changes(changed)
    return preview, facts


def _chosen(sides: Sides, question: PlanQuestion) -> Callable[[ObjectKey], bool]:
    """Return what says whether a decision is about an object that was asked for."""
    selector = None if question.selector is None else parse_selector(question.selector)
    worlds = (sides.merged, sides.base)
    namespace = question.namespace or DEFAULT_NAMESPACE
    only = {
        decided_key(world, find_object(world, word, namespace))
        for word in question.only
        for world in worlds
    }

    def is_chosen(key: ObjectKey) -> bool:
        if only and key not in only:
            return False
        if question.namespace is not None and key.namespace != question.namespace:
            return False
        if selector is None:
            return True
        objects = (world.inputs.get(named(world, key)) for world in worlds)
        return any(matches(selector, labels_of(one.body)) for one in objects if one is not None)

    return is_chosen


def _with_refusals(found: Preview, sides: Sides, version: str) -> Preview:
    """Return a plan with what clusters would refuse of the workloads that the change brings."""
    base, merged = sides.base.inputs, sides.merged.inputs
    changed = changed_keys(base, merged) & merged.keys()
    kinds = load_kubernetes(version) if changed else None
    if kinds is None:
        return found
    from reconciler.audit.workloads import check_workloads  # a plan without changes needs none

    def refused(inputs: Mapping[ObjectKey, Manifest]) -> Iterator[Warned]:
        judged = {
            key: refusal for key, refusal in inputs.items() if key in changed or key[:2] == CRD
        }
        subjects = set(map(str, changed))
        for refusal in check_workloads(judged, {}, kinds):
            if refusal.fault.subject in subjects:
                yield Warned("refused-by-clusters", refusal.fault.path, _refusal(refusal))

    refused_before = set(refused(base))
    warned = (refusal for refusal in refused(merged) if refusal not in refused_before)
    return replace(found, warnings=(*found.warnings, *warned))


def _refusal(finding: Finding) -> str:
    """Return what is wrong with a workload, and what would be right."""
    fault, refused = finding.fault, finding.severity is Severity.ERROR
    expected = f" (expected: {fault.expected})" if fault.expected else ""
    message = f"{fault.message.rstrip('.')}{expected}"
    return f"clusters would refuse it: {message}" if refused else message


def _of(sides: Sides) -> str:
    """Return in one line what is compared."""
    count = sides.uncommitted
    edited = f" + {count} uncommitted file{'s' if count > 1 else ''}" if count else ""
    head = f"{sides.head_name} ({short_id(sides.head_revision)}{edited})"
    return f"{head} merged into {sides.base_name} ({short_id(sides.base_revision)})"
