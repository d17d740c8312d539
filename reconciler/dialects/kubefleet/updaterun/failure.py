"""Why a run goes no further: for good, or for now; and upstream's words for whose fault it is."""

from reconciler.errors import UserError

ABORTED = "cannot continue the updateRun: "
INVALID = f"{ABORTED}failed to validate the updateRun: "
CLIENT = "failed to process the request due to a client error: "
UNEXPECTED = "unexpected behavior which cannot be handled by the controller: "


class RunAborted(UserError):
    """The run is over: it cannot be continued, whatever happens.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/controller.go `errStagedUpdatedAborted`.
    """


class RunPostponed(UserError):
    """The run cannot go on now, and tries again; what it did in this round stands."""
