"""The dialects of this build, in the order in which a sweep asks them."""

from reconciler.dialects.contract import Dialect
from reconciler.dialects.karmada.plan import KARMADA
from reconciler.dialects.kubefleet.plan import KUBEFLEET
from reconciler.dialects.ocm.plan import OCM

DIALECTS: tuple[Dialect, ...] = (KARMADA, OCM, KUBEFLEET)
