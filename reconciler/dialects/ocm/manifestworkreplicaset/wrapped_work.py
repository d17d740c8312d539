"""What any API decides as ManifestWorks, which OCM's agents then bring to its clusters."""

from reconciler.dialects.ocm.api.groups import WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import WORK
from reconciler.dialects.renderer import NO_INSTRUCTIONS, ClusterWork, Instruction
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
WELL_KNOWN_STATUS = [{"type": "WellKnownStatus"}]
BUT_REPLICAS: Body = {
    "type": "ServerSideApply",
    "serverSideApply": {
        "force": True,
        "ignoreFields": [{"condition": "OnSpokePresent", "jsonPaths": [".spec.replicas"]}],
    },
}
"""How agents leave the replicas of an object that is there, and set those of a new one."""
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
        "spec": _spec(work),
    }


def _spec(work: ClusterWork) -> Body:
    """Return a spec that asks for the state of what has any, so that health can follow from it.

    What other APIs ask of the objects is said in the words of this one, as far as it has any.
    """
    asked = [found for source in work.manifests if (found := _config_of(work, source))]
    configs = {"manifestConfigs": asked} if asked else {}
    kept = any(Instruction.PRESERVED in one for one in work.asked.values())
    deletion = {"deleteOption": {"propagationPolicy": "Orphan"}} if kept else {}
    return {**deletion, **configs, "workload": {"manifests": list(work.manifests.values())}}


def _config_of(work: ClusterWork, source: ObjectKey) -> Body:
    """Return how agents deal with an object, empty where nothing is to be said of that."""
    manifest = work.manifests[source]
    told = {"feedbackRules": WELL_KNOWN_STATUS} if _kind_of(manifest) in WELL_KNOWN else {}
    retained = Instruction.REPLICAS_RETAINED in work.asked.get(source, NO_INSTRUCTIONS)
    update = {"updateStrategy": BUT_REPLICAS} if retained else {}
    if not told and not update:
        return {}
    return {**told, "resourceIdentifier": _identifier_of(manifest), **update}


def _kind_of(manifest: Body) -> tuple[str, str]:
    return text(manifest, "apiVersion"), text(manifest, "kind")


def _identifier_of(manifest: Body) -> Body:
    api_version, kind = _kind_of(manifest)
    metadata = at(manifest, "metadata")
    return {
        "group": group_of(api_version),
        "name": text(metadata, "name"),
        "namespace": text(metadata, "namespace"),
        "resource": plural_of(kind),
    }
