"""`reconciler import --check`: what of the switch from a live hub is not done yet."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reconciler.cli.edits.delivery import Delivery
from reconciler.cli.edits.edited_world import world_on_disk
from reconciler.cli.edits.import_work import ImportOptions, export_of, next_moment, wanted_of
from reconciler.shell.git.repository import Repository

if TYPE_CHECKING:
    from reconciler.cli.edits.edited_world import Files
    from reconciler.cli.edits.import_source import Export
    from reconciler.imports.export import LiveObject
    from reconciler.imports.switch_check import SwitchCheck
    from reconciler.model.world import World

DEPLOYMENTS = "deployments.apps"


def check_here(options: ImportOptions) -> int:
    """Tell what is not done yet, of the files of the checkout; return the exit code."""
    from reconciler.cli.edits.check_report import print_check

    repository = Repository.open(options.directory)
    delivery = Delivery(
        directory=options.directory,
        repository=repository,
        base=repository.find(repository.head_branch()) or "",
        branch=None,
        author=None,
    )
    world, content = world_on_disk(delivery, options.layout)
    export = export_of(options, world)
    checks = _checks(options, world, content, export)
    print_check(checks, export, output=options.output)
    is_ready = bool(checks) and all(one.ready for one in checks)
    return 0 if is_ready and not export.problems else 1


def _checks(
    options: ImportOptions, world: "World", content: "Files", export: "Export"
) -> "tuple[SwitchCheck, ...]":
    """Return how the switch stands, API by API."""
    from reconciler.core.dialects import KINDS
    from reconciler.core.inputs.admissions import ADMISSIONS
    from reconciler.core.inputs.document_rules import Rules
    from reconciler.imports.plan import plan_import
    from reconciler.imports.switch_check import DEPLOYMENT, HubSeen, check_switch
    from reconciler.shell.resources import load_schemas

    wanted = wanted_of(options, export.live, export)
    rules = Rules(load_schemas(), ADMISSIONS, KINDS)
    plan = plan_import(world, content, export.live, wanted, rules)
    seen = HubSeen(
        live=export.live,
        host=None if options.host_context is None else _on_host(options, world),
        whole=DEPLOYMENT in export.listed,
    )
    return check_switch(world, plan, seen, wanted, next_moment(world))


def _on_host(options: ImportOptions, world: "World") -> "Sequence[LiveObject]":
    """Return the Deployments of the cluster that runs the control plane."""
    from reconciler.imports.export import read_export
    from reconciler.shell.processes.kubectl import Kubectl

    kubectl = Kubectl(
        context=options.host_context or "",
        kubeconfig=options.kubeconfig,
        timeout_seconds=options.timeout_seconds,
    )
    name = f"kubectl get {DEPLOYMENTS}"
    return read_export(kubectl.get(DEPLOYMENTS), name, world.known, world.known.scopes)
