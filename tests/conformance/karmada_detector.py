"""The family karmada/detector: which objects a policy is looked up for at all."""

from collections.abc import Mapping
from typing import cast

from reconciler.dialects.karmada.api.policies import CLAIMED_BY
from reconciler.dialects.karmada.detector.namespace_sync import is_synced
from reconciler.dialects.karmada.detector.propagation import NAMESPACES, Propagation, skipped_apis
from reconciler.errors import UserError
from reconciler.model.fields import mapping, text
from tests.conformance.compare import first_difference

Body = Mapping[str, object]


def check_detector(case: Body) -> str | None:
    """Compare every answer about an object, or where a Namespace goes by itself.

    What it is there needs the overrides that delivery applies, and is not compared.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["check"] == "namespaceSync":
        return first_difference({"propagatedTo": expected["propagatedTo"]}, _synced(given))
    return first_difference(expected, _answers(given))


def _synced(given: Body) -> dict[str, object]:
    """Where a Namespace goes, in the words of the vectors."""
    namespaces = cast(list[str], given.get("skippedPropagatingNamespaces", NAMESPACES))
    synced = is_synced(cast(Body, given["object"]), Propagation(namespaces=tuple(namespaces)))
    names = [mapping(one, "metadata")["name"] for one in cast(list[Body], given["clusters"])]
    return {"propagatedTo": names if synced else []}


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
