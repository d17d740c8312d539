"""What any API decides as ManifestWorks, which OCM's agents then bring to its clusters."""

from reconciler.dialects.ocm.api.groups import WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import WORK
from reconciler.dialects.renderer import ClusterWork
from reconciler.manifests.admission import digest
from reconciler.manifests.paths import plural_of
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import text
from reconciler.model.identity import ObjectKey, group_of

API_VERSION = f"{WORK_GROUP}/v1"
MANAGED_BY = {"app.kubernetes.io/managed-by": "reconciler"}
LONGEST_STEM = 50  # beside the token, in a name that fits into a label
WELL_KNOWN = (
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
)
"""Kinds of which agents know by themselves what to report, if they are asked to."""
TOKEN = 12  # hexadecimal digits of a digest


def as_manifest_work(owner: ObjectKey, work: ClusterWork) -> Body:
    """Return the ManifestWork that carries a work: its own carrier, if that is one."""
    return work.carried if work.carrier.get("kind") == WORK else _wrapped(owner, work)


def _wrapped(owner: ObjectKey, work: ClusterWork) -> Body:
    """Return a ManifestWork with the manifests of a Work of another API."""
    carrier = text(at(work.carrier, "metadata"), "name")
    stem = owner.name[:LONGEST_STEM].rstrip("-.")
    token = digest([str(owner), carrier]).removeprefix("sha256:")[:TOKEN]
    return {
        "apiVersion": API_VERSION,
        "kind": WORK,
        "metadata": {
            "name": f"{stem}-{token}",
            "namespace": work.cluster,
            "labels": MANAGED_BY,
        },
        "spec": _spec(list(work.manifests.values())),
    }


def _spec(manifests: list[Body]) -> Body:
    """Return a spec that asks for the state of what has any, so that health can follow from it."""
    asked = [_feedback_of(one) for one in manifests if _kind_of(one) in WELL_KNOWN]
    configs = {"manifestConfigs": asked} if asked else {}
    return {**configs, "workload": {"manifests": manifests}}


def _kind_of(manifest: Body) -> tuple[str, str]:
    return text(manifest, "apiVersion"), text(manifest, "kind")


def _feedback_of(manifest: Body) -> Body:
    api_version, kind = _kind_of(manifest)
    metadata = at(manifest, "metadata")
    identifier = {
        "group": group_of(api_version),
        "name": text(metadata, "name"),
        "namespace": text(metadata, "namespace"),
        "resource": plural_of(kind),
    }
    return {"feedbackRules": [{"type": "WellKnownStatus"}], "resourceIdentifier": identifier}
