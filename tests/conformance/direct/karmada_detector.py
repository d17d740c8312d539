"""The family karmada/detector: which objects a policy is looked up for at all."""

from typing import cast

from reconciler.dialects.karmada.api.policy import CLAIMED_BY
from reconciler.dialects.karmada.binding.works import render_namespace
from reconciler.dialects.karmada.detector.propagation import (
    NAMESPACES,
    Propagation,
    is_synced,
    skipped_apis,
)
from reconciler.dialects.renderer import ClusterWork
from reconciler.errors import UserError
from reconciler.model.fields import mapping, text
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.direct.karmada_render import key_of, rendering_of, told


def check_detector(case: Body) -> str | None:
    """Compare every answer about an object, or where a Namespace goes by itself and as what."""
    given, expected = cast(Body, case["input"]), dict(cast(Body, case["expected"]))
    if given["check"] == "namespaceSync":
        expected.pop("error", None)  # that of one cluster, in the words of Go's libraries
        return first_difference(expected, _synced(given))
    return first_difference(expected, _answers(given))


def _synced(given: Body) -> dict[str, object]:
    """Where a Namespace goes, in the words of the vectors."""
    namespaces = cast(list[str], given.get("skippedPropagatingNamespaces", NAMESPACES))
    body = cast(Body, given["object"])
    if not is_synced(body, Propagation(namespaces=tuple(namespaces))):
        return {"propagatedTo": [], "clusters": {}}
    rendered = tuple(render_namespace(body, key_of(body), rendering_of(given)))
    reached = [one for one in rendered if isinstance(one, ClusterWork)]
    clusters = told(tuple(reached))
    return {"propagatedTo": [one.cluster for one in reached], "clusters": clusters}


def _answers(given: Body) -> dict[str, object]:
    """What we say of an object, in the words of the vectors."""
    body = cast(Body, given["object"])
    metadata = mapping(body, "metadata")
    try:
        apis = skipped_apis(text(given, "skippedPropagatingAPIs"))
    except UserError as error:
        entry = error.message.split("`")[1]
        return {"flagError": f"parse --skipped-propagating-apis invalid parameter: {entry}"}
    namespaces = cast(list[str], given.get("skippedPropagatingNamespaces", NAMESPACES))
    found = Propagation(apis, tuple(namespaces))
    version, kind = text(body, "apiVersion"), text(body, "kind")
    watched = not apis.skips(version, kind)
    passes = found.passes(version, kind, text(metadata, "namespace"), text(metadata, "name"))
    claimed = bool(mapping(metadata, "labels").get(CLAIMED_BY))
    answers: dict[str, object] = {
        "apiWatched": watched,
        "eventPasses": passes,
        "propagated": watched and passes and not claimed,
    }
    if watched and passes:
        answers["claimedElsewhere"] = claimed
    return answers
