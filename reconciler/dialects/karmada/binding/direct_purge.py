"""A direct purge: where a workload is to go at once, its copy goes before a new one comes."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.binding.render_reads import REPORTS
from reconciler.dialects.renderer import Rendered
from reconciler.model.identity import ClusterName


def _purged(binding: BindingSpec) -> frozenset[ClusterName]:
    """Return the clusters that a workload leaves at once, and is not on for others."""
    return frozenset(task.from_cluster for task in binding.tasks if task.directly).difference(
        binding.held_on
    )


def old_copies(binding: BindingSpec, copies: CopyReports) -> tuple[ClusterName, ...]:
    """Return the clusters that a workload leaves at once and that still report it, by name."""
    key = binding.resource.key
    return tuple(name for name in sorted(_purged(binding)) if copies.of(key, name) is not None)


def newcomers(
    binding: BindingSpec, targets: Iterable[TargetCluster], copies: CopyReports
) -> frozenset[ClusterName]:
    """Return the targets that get nothing yet: others still report what they are to lose first.

    Targets that report a copy of their own run beside the old one as before. The wait ends with
    the eviction, at the latest.

    Unlike upstream: there a Work is looked at, which is gone when its finalizer is; here what the
    cluster reports. Upstream updates no copy meanwhile, here those that run are.

    Source: karmada@f8fdd02 pkg/controllers/binding/resource_binding_controller.go
    `checkDirectPurgeOrphanWorks`.
    """
    if not old_copies(binding, copies):
        return frozenset()
    key = binding.resource.key
    return frozenset(target.name for target in targets if copies.of(key, target.name) is None)


def held_back(
    binding: BindingSpec,
    targets: Iterable[TargetCluster],
    rendered: Rendered,
    copies: Callable[[], CopyReports],
) -> Rendered:
    """Return what clusters get of a binding once the newcomers among them are left out.

    Args:
        binding: As it was decided.
        targets: Its clusters.
        rendered: What they get.
        copies: Returns what all clusters report; it is asked only where a purge is direct.
    """
    if not _purged(binding):
        return rendered
    waiting = newcomers(binding, targets, copies())
    return replace(
        rendered,
        works=tuple(one for one in rendered.works if one.cluster not in waiting),
        failed=tuple(one for one in rendered.failed if one.cluster not in waiting),
        kept=rendered.kept | waiting,
        reads=REPORTS,
    )
