"""The kinds by which people demand that something is rebalanced; they are Karmada's."""

from reconciler.model.known_kinds import ApiKind, Writer

REBALANCER = ("apps.karmada.io", "WorkloadRebalancer")
TRIGGER = ("policy.karmada.io", "ScheduleTrigger")

REBALANCE_KINDS = (
    ApiKind(
        group=REBALANCER[0],
        kind=REBALANCER[1],
        writer=Writer.BOTH,
        short=("wr",),
        removable=True,
    ),
    ApiKind(group=TRIGGER[0], kind=TRIGGER[1], writer=Writer.BOTH, removable=True),
)
