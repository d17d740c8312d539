"""One scheduling cycle of KubeFleet: vectors tell of each, a pass runs as many as it takes."""

from collections.abc import Iterable
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.member import Members
from reconciler.dialects.kubefleet.scheduler.schedule import Scheduled, _begin, _cycle
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import Snapshot


def run_cycle(
    snapshot: Snapshot, bindings: Iterable[Binding], members: Members, now: datetime
) -> Scheduled:
    """Run one scheduling cycle; see `schedule`.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go `RunSchedulingCycleFor`.
    """
    return _cycle(_begin(snapshot, bindings, members), snapshot, members, now)[0]
