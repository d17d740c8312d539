"""How many clusters of a stage are updated at once."""

from reconciler.dialects.kubefleet.api.updates.update_strategy import decode_stages
from reconciler.dialects.kubefleet.scheduler.failure import as_integer
from reconciler.dialects.kubefleet.updaterun.chosen_clusters import not_an_integer
from reconciler.dialects.kubefleet.updaterun.failure import RunPostponed
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft

NOT_GIVEN = "nil value for IntOrString"
NOT_VALID = "invalid value for IntOrString: "


def concurrency_of(draft: RunDraft, index: int) -> int:
    """Return how many clusters of a stage are updated at once.

    A percentage is one of the clusters of the stage, rounded down; it is one cluster at least.

    Raises:
        RunPostponed: The strategy does not say so, or what is neither number nor percentage.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go
    `calculateMaxConcurrencyValue`.
    """
    most = decode_stages(draft.status.strategy or {})[index].concurrency
    return scaled(most, len(draft.stages[index].clusters)) or 1


def scaled(share: int | str | None, total: int) -> int:
    """Return a number, or a percentage of the total rounded down.

    >>> scaled(2, 5), scaled("50%", 5), scaled("1%", 5)
    (2, 2, 0)

    Raises:
        RunPostponed: It is neither.

    Source: k8s.io/apimachinery pkg/util/intstr/intstr.go `GetScaledValueFromIntOrPercent`.
    """
    if share is None:
        raise RunPostponed(NOT_GIVEN)
    if isinstance(share, int):
        return share
    if not share.endswith("%"):
        raise RunPostponed(f"{NOT_VALID}invalid type: string is not a percentage")
    percent = as_integer(share.removesuffix("%"))
    if percent is None:
        why = not_an_integer(share.removesuffix("%"))
        raise RunPostponed(f'{NOT_VALID}invalid value "{share}": {why}')
    return percent * total // 100
