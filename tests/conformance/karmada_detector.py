"""The family karmada/detector: which objects a policy is looked up for at all."""

from collections.abc import Mapping
from typing import cast

from reconciler.dialects.karmada.api.policies import CLAIMED_BY
from reconciler.dialects.karmada.detector.propagation import NAMESPACES, Propagation, skipped_apis
from reconciler.errors import UserError
from reconciler.model.fields import mapping, text
from tests.conformance.compare import first_difference

Body = Mapping[str, object]


def check_detector(case: Body) -> str | None:
    """Compare every answer about an object.

    The vectors of the same family on the syncing of namespaces come with delivery; they are not
    among the fixtures.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    return first_difference(expected, _answers(given))


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
