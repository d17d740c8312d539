"""Whether our functions answer as upstream's expressions do."""

from collections.abc import Iterable, Iterator, Sequence

from reconciler.dialects.ocm.api.admission import refuse_replica_set, refuse_work
from reconciler.model.body import Body
from reconciler.model.fields import text
from tests.crds.facts import KindVersion
from tests.crds.kubefleet_rules import JUDGED, KUBEFLEET
from tests.crds.reader import Rule
from tests.crds.rules import Answer, finds, holds
from tests.crds.tables import read_tables

CONDITION = "self.type != 'CEL' || self.condition != \"\""
RULE = "replica-set-condition"

OCM: Sequence[Answer] = (
    Answer(
        "work.open-cluster-management.io/v1 ManifestWork",
        "spec.manifestConfigs[].conditionRules[]",
        (CONDITION,),
        "ocm.api.admission.refuse_work",
        finds(refuse_work, RULE),
    ),
    Answer(
        "work.open-cluster-management.io/v1alpha1 ManifestWorkReplicaSet",
        "spec.manifestWorkTemplate.manifestConfigs[].conditionRules[]",
        (CONDITION,),
        "ocm.api.admission.refuse_replica_set",
        finds(refuse_replica_set, RULE),
    ),
)


ANSWERS: Sequence[Answer] = (*KUBEFLEET, *JUDGED, *OCM)
"""All functions of ours that answer CEL rules."""

RULES = read_tables().rules


def rules_of(answer: Answer) -> list[Rule]:
    """The rules that a function answers."""
    return [Rule(answer.field, expression) for expression in answer.expressions]


def asked_of(body: Body) -> Iterator[tuple[Answer, list[Rule]]]:
    """The functions that answer for an object, each with the rules of its kind and version."""
    group, _, version = text(body, "apiVersion").partition("/")
    kind = KindVersion(group, version, text(body, "kind"))
    every = RULES.get(kind, ())
    for answer in ANSWERS:
        rules = [rule for rule in every if answer.covers(kind, rule)]
        if rules:
            yield answer, rules


def disagreements(before: Body, after: Body) -> list[str]:
    """Functions that do not answer as the expressions do."""
    return [
        f"{answer.by}: {answer.expressions}"
        for answer, rules in asked_of(after)
        if not answer.spares(before, after)
        and answer.refuses(before, after) == all(holds(rule, before, after) for rule in rules)
    ]


def unbroken(
    answers: Iterable[Answer], edits: Iterable[tuple[Body, Body]]
) -> set[tuple[str, Rule]]:
    """Rules that no object breaks, each with the kinds that it is answered for."""
    broken = {
        (answer.kinds, rule)
        for before, after in edits
        for answer, rules in asked_of(after)
        for rule in rules
        if not holds(rule, before, after)
    }
    return {(answer.kinds, rule) for answer in answers for rule in rules_of(answer)} - broken
