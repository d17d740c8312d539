"""What staged update runs and approvals of KubeFleet refer to."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.kinds import SCOPES, PlacementKinds
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.api.strategy import waits_for_runs
from reconciler.dialects.kubefleet.updaterun.approvals import refusal_of
from reconciler.dialects.kubefleet.view.approvals import begun_run
from reconciler.dialects.kubefleet.view.run_progress import wait_for_run
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.message_text import shown
from reconciler.model.world import Manifest


def doubts_of_updates(known: Known) -> Iterator[Dangling]:
    """Yield runs without placement or strategy, placements without run, approvals of nothing."""
    for kinds in SCOPES:
        rolled = set()
        for one in known.of_kind(GROUP, kinds.run):
            rolled.add((one.key.namespace, text(mapping(one.body, "spec"), "placementName")))
            yield from _of_run(one, kinds, known)
        for one in known.of_kind(GROUP, kinds.placement):
            if waits_for_runs(one.body) and (one.key.namespace, one.key.name) not in rolled:
                message = f"the placement {wait_for_run(one.key.namespace)}; there is none"
                expected = f"a {kinds.run}, or another strategy"
                at = "/spec/strategy/type"
                yield Dangling(one.key, at, "placement-run-missing", message, expected)
        for one in known.of_kind(GROUP, kinds.approval_request):
            yield from _of_approval(one, kinds, known)


def _of_run(run: Manifest, kinds: PlacementKinds, known: Known) -> Iterator[Dangling]:
    """Yield what a run names and is not there, unless it needs that no longer."""
    if begun_run(known.world, run.key) is not None:
        return
    for field, kind in (
        ("placementName", kinds.placement),
        ("stagedRolloutStrategyName", kinds.update_strategy),
    ):
        name = text(mapping(run.body, "spec"), field)
        names = known.names(GROUP, kind, run.key.namespace)
        if name not in names:
            message = f"no {kind} is named {shown(name)}, so the run fails for good"
            expected = proposal(name, names, kind)
            yield Dangling(run.key, f"/spec/{field}", "run-reference-unknown", message, expected)


def _of_approval(one: Manifest, kinds: PlacementKinds, known: Known) -> Iterator[Dangling]:
    """Yield an approval that counts for nothing, as far as the records of its run say."""
    name = text(mapping(one.body, "spec"), "parentStageRollout")
    run = ObjectKey(GROUP, kinds.run, one.key.namespace, name)
    begun = begun_run(known.world, run)
    if begun is None and run in known.keys:
        return  # no pass has seen it yet
    where, why = refusal_of(one, begun)
    if why:
        expected = "what reconciler approve writes, or no such file"
        message = f"{one.key.name} approves nothing: {why}"
        yield Dangling(one.key, where, "approval-ignored", message, expected)
