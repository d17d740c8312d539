"""Our schemas against the facts that are kept of upstream's CRDs."""

import pytest

from tests.crds.compare import Difference, differences, table_of, unexplained, unused
from tests.crds.facts import NUMBERS, ORDER, KindVersion, asked, facts_in
from tests.crds.kinds_module import kinds_text
from tests.crds.reader import Rule, Served, Upstream
from tests.crds.reasons import Reason, read_reasons
from tests.crds.schema_facts import our_schemas
from tests.crds.tables import UNKNOWN, read_by_hand, read_commits, read_tables
from tests.shell.fleet import ROOT

REBALANCER = KindVersion("apps.karmada.io", "v1alpha1", "WorkloadRebalancer")
KEPT = read_tables()
PAGE = (ROOT / "docs/upstream.md").read_text(encoding="utf-8")


def found(upstream: Upstream = KEPT) -> list[Difference]:
    """Differences from what upstream says."""
    return differences(upstream, read_by_hand(our_schemas()))


def strange(upstream: Upstream) -> set[Difference]:
    """Differences without a reason that are not there already."""
    return set(unexplained(found(upstream), read_reasons())) - set(found())


def with_facts(path: str, line: str, kind: KindVersion = REBALANCER) -> Upstream:
    """What is kept, but for the facts of one field of a kind."""
    fields = {**KEPT.fields[kind], path: facts_in(line)}
    return Upstream(kinds=KEPT.kinds, rules=KEPT.rules, fields={**KEPT.fields, kind: fields})


def test_each_difference_has_a_reason() -> None:
    """Or our schema is mended."""
    assert not unexplained(found(), read_reasons()), table_of(unexplained(found(), read_reasons()))


def test_each_reason_has_a_difference() -> None:
    """A reason goes when what it explains is gone."""
    assert [] == unused(found(), read_reasons())


def test_a_reason_without_a_difference_is_found() -> None:
    """It would hide the next one."""
    reason = Reason("*", "spec.never", "-", "string", "It is not so.")

    assert [reason] == unused(found(), [*read_reasons(), reason])


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param("spec.workloads", "array; required; minItems=2", id="limit"),
        pytest.param("spec.workloads[].kind", "integer; required", id="type"),
        pytest.param("spec.workloads[].kind", "string", id="required"),
        pytest.param("spec.workloads[].name", "string; required; enum=a|b", id="enum"),
        pytest.param("spec.workloads", "array; required; minItems=1; listMapKeys=name", id="keys"),
        pytest.param("spec.workloads[].kind", "string; required; nullable", id="null"),
        pytest.param("spec.ttlSecondsAfterFinished", "integer; format=int64", id="format"),
        pytest.param("spec.novelty", "object", id="field"),
    ],
)
def test_a_changed_fact_is_a_difference(path: str, line: str) -> None:
    """Whatever it is about."""
    assert {path} == {one.field for one in strange(with_facts(path, line))}


def test_a_difference_shows_both_sides() -> None:
    """As the tables have them."""
    upstream = with_facts("spec.workloads", "array; required; minItems=2")

    assert {Difference(REBALANCER, "spec.workloads", "minItems=1", "minItems=2")} == strange(
        upstream
    )


def test_a_field_that_takes_anything_is_one_difference() -> None:
    """Not one for each field that upstream has below it."""
    kind = KindVersion("policy.karmada.io", "v1alpha1", "PropagationPolicy")
    status = with_facts("status", "object", kind).fields[kind]
    fields = {**KEPT.fields, kind: {**status, "status.a": {"type": "string"}}}
    upstream = Upstream(kinds=KEPT.kinds, rules=KEPT.rules, fields=fields)

    assert {Difference(kind, "status", "open", "-")} == strange(upstream)


def test_a_kind_that_is_served_no_more_is_a_difference() -> None:
    """What people write would be unknown there."""
    kinds = {kind: one for kind, one in KEPT.kinds.items() if kind[1] != REBALANCER.kind}
    upstream = Upstream(kinds=kinds, fields=KEPT.fields, rules=KEPT.rules)

    assert {Difference(REBALANCER, "", "served", "-")} == strange(upstream)


def test_a_new_version_of_a_kind_is_a_difference() -> None:
    """It is served, and we do not read it."""
    served = {(REBALANCER.group, REBALANCER.kind): Served("Cluster", ("v1", "v1alpha1"), "v1")}
    upstream = Upstream(kinds={**KEPT.kinds, **served}, fields=KEPT.fields, rules=KEPT.rules)

    assert {Difference(REBALANCER._replace(version="v1"), "", "-", "served")} == strange(upstream)


def test_another_scope_is_a_difference() -> None:
    """Its objects would have other names."""
    served = {(REBALANCER.group, REBALANCER.kind): Served("Namespaced", ("v1alpha1",), "v1alpha1")}
    upstream = Upstream(kinds={**KEPT.kinds, **served}, fields=KEPT.fields, rules=KEPT.rules)
    expected = Difference(REBALANCER, "", "scope=Cluster", "scope=Namespaced")

    assert {expected} == strange(upstream)


def test_a_new_rule_is_a_difference() -> None:
    """Until a function of ours answers it, or a reason says why none does."""
    rules = {**KEPT.rules, REBALANCER: (Rule("spec", "size(self.workloads) < 9"),)}
    upstream = Upstream(kinds=KEPT.kinds, fields=KEPT.fields, rules=rules)
    expected = Difference(REBALANCER, "spec", "-", "cel=size(self.workloads) < 9")

    assert {expected} == strange(upstream)


def test_a_default_is_filled_in_before_a_field_is_required() -> None:
    """So the field may be left out."""
    facts = facts_in('string; required; default="a"')

    assert {"type": "string", "default": '"a"'} == asked(facts)


def test_a_table_is_aligned() -> None:
    """For a person to read."""
    kind = KindVersion("g.io", "v1", "Kind")
    rows = [Difference(kind, "spec.a", "min=0", "min=10"), Difference(kind, "", "-", "served")]

    assert (
        "KIND       VERSION  FIELD   OURS   THEIRS\n"
        "Kind.g.io  v1       spec.a  min=0  min=10\n"
        "Kind.g.io  v1       -       -      served\n"
    ) == table_of(rows)


def test_each_kept_fact_is_of_a_commit() -> None:
    """So that anybody can look at its source."""
    assert UNKNOWN not in read_commits().values()


@pytest.mark.parametrize("project", sorted(read_commits()))
def test_each_table_of_kinds_is_as_it_was_made(project: str) -> None:
    """It is never edited by hand."""
    path = ROOT / f"reconciler/dialects/{project}/crd_kinds.py"

    assert kinds_text(project) == path.read_text(encoding="utf-8")


def test_the_page_shows_a_list_of_differences() -> None:
    """As it is printed."""
    rows = [
        Difference(REBALANCER, "spec.novelty", "-", "object; required"),
        Difference(REBALANCER, "spec.workloads", "minItems=1", "minItems=2"),
    ]

    assert f"```\n{table_of(rows)}```" in PAGE


@pytest.mark.parametrize("word", sorted({*NUMBERS.values(), *ORDER} - {"type"}))
def test_the_page_has_each_word_of_the_tables(word: str) -> None:
    """So that a table can be read."""
    assert f"`{word}`" in PAGE or f"`{word}=" in PAGE
