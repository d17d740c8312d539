"""What the webhooks of each API would refuse; checking a file needs no scheduler."""

from collections.abc import Mapping

from reconciler.core.file_validation import Admission
from reconciler.dialects.karmada.api.admission import KARMADA_ADMISSIONS
from reconciler.dialects.karmada.api.workload_admission import WORKLOAD_ADMISSIONS
from reconciler.dialects.kubefleet.api.admission import KUBEFLEET_ADMISSIONS
from reconciler.dialects.ocm.api.admission import OCM_ADMISSIONS
from reconciler.rebalance.admission import REBALANCE_ADMISSIONS

ADMISSIONS: Mapping[tuple[str, str], Admission] = {
    **KARMADA_ADMISSIONS,
    **KUBEFLEET_ADMISSIONS,
    **OCM_ADMISSIONS,
    **REBALANCE_ADMISSIONS,
    **WORKLOAD_ADMISSIONS,
}
"""By (group, kind)."""
