"""The function of ours that answers the CEL rule of OCM's ManifestWorks."""

from collections.abc import Sequence

from reconciler.dialects.ocm.api.admission import refuse_replica_set, refuse_work
from tests.crds.refusals import finds
from tests.crds.rules import Answer

CONDITION = "self.type != 'CEL' || self.condition != \"\""
RULE = "replica-set-condition"

OCM: Sequence[Answer] = (
    Answer(
        "work.open-cluster-management.io/v1 ManifestWork",
        "spec.manifestConfigs[].conditionRules[]",
        (CONDITION,),
        "ocm.api.admission.refuse_work",
        finds(refuse_work, RULE),
    ),
    Answer(
        "work.open-cluster-management.io/v1alpha1 ManifestWorkReplicaSet",
        "spec.manifestWorkTemplate.manifestConfigs[].conditionRules[]",
        (CONDITION,),
        "ocm.api.admission.refuse_replica_set",
        finds(refuse_replica_set, RULE),
    ),
)
