"""An approval request: that a person lets a stage of a run begin, or end."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.updates.conditions import conditions_in
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.labels import labels_of

STAGE_LABEL = "kubernetes-fleet.io/targetUpdatingStage"
RUN_LABEL = "kubernetes-fleet.io/targetUpdateRun"
TASK_LABEL = "kubernetes-fleet.io/taskType"
LATEST_LABEL = "kubernetes-fleet.io/isLatestUpdateRunApproval"
BEFORE, AFTER = "beforeStage", "afterStage"

APPROVED = "Approved"
ACCEPTED = "ApprovalAccepted"


class ApprovalRequest(NamedTuple):
    """An approval request.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `ApprovalRequestSpec`.

    Attributes:
        name: Name.
        run: Name of the run.
        stage: Name of its stage.
        labels: Labels.
        generation: Counts the changes of its spec.
        conditions: As written.
    """

    name: str
    run: str
    stage: str
    labels: Mapping[str, str] = {}
    generation: int = 1
    conditions: Sequence[Body] = ()

    def holds(self, kind: str) -> bool:
        """Return whether a condition is True of the present generation."""
        return any(
            item.get("type") == kind
            and item.get("status") == "True"
            and item.get("observedGeneration") == self.generation
            for item in self.conditions
        )


def decode_request(body: Body) -> ApprovalRequest:
    """Return an approval request from its manifest.

    Raises:
        UserError: A field has the wrong type.
    """
    metadata, spec = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    return ApprovalRequest(
        name=fields.text(metadata, "name"),
        run=fields.text(spec, "parentStageRollout"),
        stage=fields.text(spec, "targetStage"),
        labels=dict(labels_of(body)),
        generation=fields.number(metadata, "generation"),
        conditions=conditions_in(fields.mapping(body, "status")),
    )


def readable_request(manifest: Body) -> ApprovalRequest | None:
    """Return a request from its status file, `None` if that cannot be read: it is made anew."""
    try:
        return decode_request(manifest)
    except UserError:
        return None


def encode_spec(request: ApprovalRequest) -> Body:
    """Return the spec of an approval request."""
    return {"parentStageRollout": request.run, "targetStage": request.stage}


def new_request(name: str, run: str, stage: str, task: str) -> ApprovalRequest:
    """Return the request that a run makes for a task before or after a stage.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/execution.go `buildApprovalRequestObject`.
    """
    labels = {STAGE_LABEL: stage, RUN_LABEL: run, TASK_LABEL: task, LATEST_LABEL: "true"}
    return ApprovalRequest(name=name, run=run, stage=stage, labels=labels)
