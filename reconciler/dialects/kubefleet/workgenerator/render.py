"""A binding rendered: the Works of its cluster, as upstream writes them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.asked import asked_by_strategy
from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import BOUND, UNSCHEDULED
from reconciler.dialects.kubefleet.api.resource_snapshot import SnapshotEntry, decode_resources
from reconciler.dialects.kubefleet.overrider.apply_overrides import apply_overrides
from reconciler.dialects.kubefleet.overrider.matching import IsNamespaced, target_of
from reconciler.dialects.kubefleet.overrider.override import MemberLabels, Override
from reconciler.dialects.kubefleet.rollout.readiness import is_announced
from reconciler.dialects.kubefleet.workgenerator.envelopes import contents, is_envelope
from reconciler.dialects.kubefleet.workgenerator.snapshot_group import (
    index_of,
    snapshot_group,
    subindex_of,
)
from reconciler.dialects.kubefleet.workgenerator.work_marks import (
    envelope_work_name,
    work_name,
    work_of,
)
from reconciler.dialects.renderer import ClusterWork
from reconciler.dialects.work_spec import fill_work
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey

OVERRIDDEN_FAILED = "Failed to apply the override rules on the resources: "
NOT_SYNCHRONIZED = "Failed to synchronize the work to the latest: "


@dataclass(frozen=True, slots=True)
class MemberRendering:
    """What rendering asks beside a binding.

    Attributes:
        member: Its cluster.
        overrides: Those that are picked for the cluster, in their order.
        content: Returns the object that an entry of a snapshot stands for.
        is_namespaced: Whether an object is of a namespaced kind.
        abandons: Whether what is on clusters is to outlive the placement.
    """

    member: MemberLabels
    overrides: Sequence[Override]
    content: Callable[[SnapshotEntry], Body]
    is_namespaced: IsNamespaced
    abandons: bool = False


def is_rendered(binding: Binding) -> bool:
    """Return whether Works are written for a binding: its rollout has been announced.

    One that is leaving keeps its resources until it is gone.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `Reconcile`.
    """
    if not binding.resource_snapshot or binding.deleting:
        return False
    return binding.state == UNSCHEDULED or (binding.state == BOUND and is_announced(binding))


def render_binding(
    binding: Binding, snapshots: Iterable[Body], rendering: MemberRendering
) -> list[ClusterWork]:
    """Return the Works of a binding; a snapshot has one, and each envelope in it.

    Args:
        binding: One that is rendered.
        snapshots: The resource snapshots of its placement.
        rendering: All else.

    Raises:
        UserError: An override does not fit, or something is missing: the cluster gets nothing new.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `syncAllWork`.
    """
    try:
        group = snapshot_group(binding.resource_snapshot, snapshots)
    except UserError as error:
        raise UserError(f"{OVERRIDDEN_FAILED}{error.message}") from error
    return [work for snapshot in group for work in _works(binding, snapshot, rendering)]


def _works(binding: Binding, snapshot: Body, rendering: MemberRendering) -> Iterator[ClusterWork]:
    """Yield the Work of a snapshot, then those of the envelopes in it."""
    name, index = work_name(binding, subindex_of(snapshot)), index_of(snapshot)
    listed = [rendering.content(one) for one in decode_resources(snapshot)]
    plain = [one for one in listed if not is_envelope(one)]
    yield _work(binding, name, index, plain, rendering, None)
    for envelope in listed:
        if is_envelope(envelope):
            own = envelope_work_name(name, envelope)
            yield _work(binding, own, index, _unpacked(envelope), rendering, envelope)


def _unpacked(envelope: Body) -> list[Body]:
    try:
        return contents(envelope)
    except UserError as error:
        raise UserError(f"{NOT_SYNCHRONIZED}{error.message}") from error


def _work(
    binding: Binding,
    name: str,
    index: str,
    listed: Iterable[Body],
    rendering: MemberRendering,
    envelope: Body | None,
) -> ClusterWork:
    """Return a Work, with what overrides leave of its objects."""
    manifests: dict[ObjectKey, Body] = {}
    for one in listed:
        target = target_of(one)
        try:
            found = apply_overrides(
                one,
                target,
                rendering.overrides,
                rendering.member,
                namespaced=rendering.is_namespaced(target),
            )
        except UserError as error:
            raise UserError(f"{OVERRIDDEN_FAILED}{error.message}") from error
        if found is not None:
            key = ObjectKey(target.group, target.kind, target.namespace, target.name)
            manifests[key] = found
    carrier = work_of(binding, name, index, rendering.overrides, envelope)
    asked = asked_by_strategy(binding.apply_strategy or {}, abandons=rendering.abandons)
    return ClusterWork(
        cluster=binding.target,
        carrier=carrier,
        fill=fill_work,
        manifests=manifests,
        asked=dict.fromkeys(manifests, asked) if asked else {},
    )
