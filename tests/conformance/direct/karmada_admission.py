"""The family karmada/admission: what an API server with its webhooks refuses and stores."""

from typing import cast

from reconciler.core.inputs.admissions import ADMISSIONS, UPDATES
from reconciler.dialects.karmada.api.admission import refuse_taint_policy
from reconciler.dialects.karmada.api.cluster_admission import mutated_cluster
from reconciler.dialects.karmada.api.override_admission import mutated_override
from reconciler.dialects.karmada.api.policy import admitted
from reconciler.manifests.schemas.schema import Judged
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import group_of
from reconciler.shell.resources import load_schemas
from tests.builders import Body, manifest
from tests.conformance.compare import first_difference
from tests.conformance.door.door import LeftOut
from tests.conformance.judgements import forgives

FAMILY = "karmada/admission"


def check_admission(case: Body) -> str | None:
    """Compare whether an object is admitted, where the CRD and the webhooks have both answered.

    An API server fills in and drops fields before it asks; only its answer is compared, and the
    spec that it stores.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["operation"] == "DELETE":
        raise LeftOut("deletion")
    answer = cast(Body, expected.get("withCRD", expected))
    judged = _judged(cast(Body, given["object"]), no_execute=given.get("allowNoExecuteTaintPolicy"))
    if not judged.violations and "oldObject" in given:
        judged = _updated(cast(Body, given["oldObject"]), judged)
    why = "; ".join(f"{one.pointer} {one.rule}" for one in judged.violations)
    difference = first_difference(answer["accepted"], not judged.violations, ".accepted")
    if difference or "object" not in answer:
        return f"{difference} {why}".rstrip() if difference else None
    stored = _without_forgiven(cast(Body, answer["object"]), judged.body)
    return first_difference(stored, _stored(judged.body), ".object.spec")


def _without_forgiven(stored: Body, body: Body) -> Body:
    """The spec that upstream stores, without what exceptions.json forgives of it."""
    spec = dict(mapping(stored, "spec"))
    if forgives(FAMILY, "nine models") and not bodies(mapping(body, "spec"), "resourceModels"):
        spec.pop("resourceModels", None)
    if forgives(FAMILY, "dated taints") and body["kind"] == "Cluster" and "taints" in spec:
        spec["taints"] = [
            {name: one for name, one in taint.items() if one != "NOW"}
            for taint in bodies(spec, "taints")
        ]
    return spec


def _judged(body: Body, *, no_execute: object) -> Judged:
    """What `validate` has to say of an object: its schema first, then its webhooks."""
    judged = load_schemas().judge(body)
    if judged.violations:
        return judged
    if body["kind"] == "ClusterTaintPolicy":
        found = refuse_taint_policy(judged.body, no_execute=no_execute is True)
    else:
        found = ADMISSIONS[group_of(text(body, "apiVersion")), text(body, "kind")](judged.body)
    return Judged(judged.body, found)


def _updated(before: Body, judged: Judged) -> Judged:
    """What a pass has to say of an edit."""
    refuse = UPDATES.get((group_of(text(before, "apiVersion")), text(before, "kind")))
    return judged if refuse is None else Judged(judged.body, refuse(before, judged.body))


def _stored(body: Body) -> Body:
    """The spec of an object as an API server stores it."""
    spec = mapping(body, "spec")
    match body["kind"]:
        case "PropagationPolicy" | "ClusterPropagationPolicy":
            return admitted(manifest(body).key, spec)
        case "Cluster":
            return mutated_cluster(spec)
        case "OverridePolicy":
            return mutated_override(body)
    return spec
