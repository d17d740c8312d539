"""What the contract asks of the facts of every dialect."""

import pytest

from reconciler.core.dialects import DIALECTS, KINDS, dialect_of
from reconciler.dialects.contract import Dialect
from reconciler.manifests.paths import folder_of

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


@EACH
def test_facts_speak_of_kinds_that_are_listed(dialect: Dialect) -> None:
    """What is decided about and written in has files of ours; people write clusters."""
    listed = {kind.id for kind in dialect.kinds}
    parts = frozenset(dialect.parts.values())

    assert {dialect.cluster} | dialect.placed | dialect.roots | parts <= listed
    assert dialect.placed | parts <= KINDS.outputs
    assert dialect.parts.keys() <= dialect.placed
    assert parts <= KINDS.owned
    assert dialect.cluster not in KINDS.owned


@EACH
def test_a_group_is_of_one_dialect(dialect: Dialect) -> None:
    """A key leads to the dialect that answers about it."""
    assert {dialect} == {dialect_of(group) for group in dialect.groups}


@EACH
def test_columns_and_admissions_are_of_its_own_kinds(dialect: Dialect) -> None:
    """Admission may look at workloads, too; nothing of another API."""
    listed = {kind.id for kind in dialect.kinds}
    admitted = {kind for kind in dialect.admissions(KINDS) if kind[0] in KINDS.groups}

    assert dialect.view().world.columns.keys() <= listed
    assert admitted <= listed


def test_outputs_stand_where_they_always_stood() -> None:
    """A folder that is renamed would lose what was decided."""
    expected = [
        "approvalrequests.placement.kubernetes-fleet.io",
        "clusterapprovalrequests.placement.kubernetes-fleet.io",
        "clusterledgers.reconciler.dev",
        "clusterprofiles.multicluster.x-k8s.io",
        "clusterreports.reconciler.dev",
        "clusterresourcebindings.placement.kubernetes-fleet.io",
        "clusterresourcebindings.work.karmada.io",
        "clusterresourceplacementevictions.placement.kubernetes-fleet.io",
        "clusterresourceplacements.placement.kubernetes-fleet.io",
        "clusterresourcesnapshots.placement.kubernetes-fleet.io",
        "clusters.cluster.karmada.io",
        "clusterschedulingpolicysnapshots.placement.kubernetes-fleet.io",
        "clusterstagedupdateruns.placement.kubernetes-fleet.io",
        "federatedresourcequotas.policy.karmada.io",
        "managedclusters.cluster.open-cluster-management.io",
        "manifestworkreplicasets.work.open-cluster-management.io",
        "placementdecisions.cluster.open-cluster-management.io",
        "placementdecisions.multicluster.x-k8s.io",
        "placements.cluster.open-cluster-management.io",
        "resourcebindings.placement.kubernetes-fleet.io",
        "resourcebindings.work.karmada.io",
        "resourceplacements.placement.kubernetes-fleet.io",
        "resourcesnapshots.placement.kubernetes-fleet.io",
        "scheduletriggers.policy.karmada.io",
        "schedulingpolicysnapshots.placement.kubernetes-fleet.io",
        "stageddeliveries.reconciler.dev",
        "stagedupdateruns.placement.kubernetes-fleet.io",
        "workloadrebalancers.apps.karmada.io",
    ]

    assert expected == sorted(folder_of(*kind) for kind in KINDS.outputs)
