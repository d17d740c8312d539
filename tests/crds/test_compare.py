"""Facts of upstream's CRDs: read, kept, and held against our schemas and objects."""

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree

import pytest

from tests.builders import Body, text
from tests.crds.__main__ import main
from tests.crds.compare import Difference, differences, kinds_text, table_of, unexplained, unused
from tests.crds.facts import (
    NUMBERS,
    ORDER,
    Fields,
    KindVersion,
    asked,
    facts_in,
    line_of,
    our_schemas,
    refusals,
)
from tests.crds.reader import Rule, Served, Upstream, read_crds
from tests.crds.rules import Reason, read_reasons
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


FIELDS: Fields = {
    "spec": facts_in("object; required"),
    "spec.mode": facts_in("string; enum=A|B"),
    "spec.number": facts_in("integer; min=0; format=int32"),
    "spec.when": facts_in("string; format=date-time"),
    "spec.name": facts_in("string; minLen=1; maxLen=3; pattern=^[a-z]+$"),
    "spec.kept": facts_in('string; required; default="x"'),
    "spec.labels": facts_in("object"),
    "spec.labels{}": facts_in("string"),
    "spec.items": facts_in("array; maxItems=1"),
    "spec.items[]": facts_in("object; open; x-kubernetes-embedded-resource=true"),
    "spec.parts": facts_in("array"),
    "spec.parts[]": facts_in("object"),
    "spec.parts[].id": facts_in("int-or-string; required"),
}
ITEM: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": 1}}
FINE: Body = {
    "mode": "A",
    "number": 0,
    "when": "2026-11-20T12:00:00Z",
    "name": "abc",
    "labels": {"any": "text"},
    "items": [ITEM],
    "parts": [{"id": 1}, {"id": "1"}],
}


def told(spec: object, **metadata: object) -> list[str]:
    """What is refused of an object."""
    body = {"apiVersion": "v1", "kind": "Toy", "metadata": {"name": "a", **metadata}, "spec": spec}
    return [*refusals(body, FIELDS)]


def test_an_object_as_it_should_be_is_taken() -> None:
    """Defaults are filled in."""
    assert [] == told(FINE)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"mode": "C"}, "spec.mode must be one of A|B: 'C'", id="enum"),
        pytest.param({"mode": 1}, "spec.mode must be of type string: 1", id="type"),
        pytest.param({"number": True}, "spec.number must be of type integer: True", id="flag"),
        pytest.param({"number": -1}, "spec.number is below its limit of 0", id="low"),
        pytest.param({"number": 2**31}, "spec.number is beyond its limit of 2147483647", id="high"),
        pytest.param({"when": "noon"}, "spec.when must be a moment: 'noon'", id="moment"),
        pytest.param({"name": "abcd"}, "spec.name is beyond its limit of 3", id="length"),
        pytest.param({"name": "A"}, "spec.name must match ^[a-z]+$: 'A'", id="pattern"),
        pytest.param({"labels": {"a": 1}}, "spec.labels{} must be of type string: 1", id="value"),
        pytest.param({"items": [ITEM] * 2}, "spec.items is beyond its limit of 1", id="items"),
        pytest.param({"items": [{}]}, "spec.items[]: metadata is missing", id="embedded"),
        pytest.param({"parts": [{}]}, "spec.parts[].id is required", id="required"),
        pytest.param({"other": 1}, "spec.other is no field of its CRD", id="unknown"),
        pytest.param(None, "spec must be of type object: None", id="null"),
    ],
)
def test_what_the_facts_do_not_allow_is_refused(spec: object, expected: str) -> None:
    """With the field and the fact."""
    assert [expected] == told(spec)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"name": "A"}, "metadata.name is no name: 'A'", id="name"),
        pytest.param({"labels": {"a": "-"}}, "metadata.labels.a is no label: '-'", id="label"),
        pytest.param(
            {"annotations": {"a": 1}}, "metadata.annotations.a is no annotation: 1", id="annotation"
        ),
    ],
)
def test_metadata_is_judged_as_of_any_kind(metadata: Body, expected: str) -> None:
    """Names, labels and annotations."""
    assert [expected] == told(FINE, **metadata)


def test_a_field_that_is_missing_is_refused() -> None:
    """At the top, too."""
    body: Body = {"apiVersion": "v1", "kind": "Toy", "metadata": {"name": "a"}}

    assert ["spec is required"] == [*refusals(body, FIELDS)]


GROUP, KIND = "apps.karmada.io", "WorkloadRebalancer"
READ_KIND = KindVersion(GROUP, "v1alpha1", KIND)


def crd(spec: Body, *, kind: str = KIND, version: str = "v1alpha1", served: bool = True) -> Body:
    """A CRD whose spec has this schema."""
    schema = {"type": "object", "properties": {"spec": spec}}
    one = {"name": version, "served": served, "storage": served}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": kind},
            "scope": "Cluster",
            "versions": [{**one, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def line(folder: Path, node: Body) -> str:
    """What a table says of `spec.a`, if it has this schema."""
    (folder / "a.yaml").write_text(text(crd({"type": "object", "properties": {"a": node}})))
    return line_of(read_crds(folder).fields[READ_KIND]["spec.a"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the facts that are kept."""
    for name in ("fixtures/crds", "fixtures/fields"):
        copytree(ROOT / name, tmp_path / "root" / name)
    return tmp_path / "root"


def contents(root: Path) -> Mapping[str, str]:
    """Every file below a folder."""
    paths = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text() for path in paths}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"type": "integer", "minimum": 0, "format": "int32"}, "integer; min=0; format=int32"),
        ({"type": "string", "default": "b", "enum": ["b", "c"]}, 'string; default="b"; enum=b|c'),
        ({"type": "string", "maxLength": 3, "pattern": "a; b"}, "string; maxLen=3; pattern=a; b"),
        ({"type": "string", "nullable": True}, "string; nullable"),
        ({"type": "array", "x-kubernetes-list-type": "set"}, "array; listType=set"),
        ({"type": "array", "x-kubernetes-list-map-keys": ["a", "b"]}, "array; listMapKeys=a,b"),
        ({"x-kubernetes-int-or-string": True, "anyOf": []}, "int-or-string"),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "object; open"),
        ({"type": "object", "minProperties": 1}, "object; minProperties=1"),
    ],
)
def test_a_fact_has_its_word(tmp_path: Path, node: Body, expected: str) -> None:
    """One line tells a field."""
    assert expected == line(tmp_path, node)


def test_a_keyword_that_is_new_is_kept(tmp_path: Path) -> None:
    """Nothing that upstream says is lost in silence."""
    assert 'string; not={"enum": [""]}' == line(tmp_path, {"type": "string", "not": {"enum": [""]}})


def test_a_rule_is_kept_with_its_field(tmp_path: Path) -> None:
    """Its message is upstream's text, and is not."""
    rule = {"rule": "self == oldSelf", "message": "no", "optionalOldSelf": True}
    (tmp_path / "a.yaml").write_text(text(crd({"x-kubernetes-validations": [rule]})))
    expected = Rule("spec", "self == oldSelf", '{"optionalOldSelf": true}')

    assert {READ_KIND: (expected,)} == read_crds(tmp_path).rules


def test_versions_of_one_kind_may_be_in_several_files(tmp_path: Path) -> None:
    """Those that are not served do not count."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.yaml").write_text(text(crd({})))
    (tmp_path / "deep/b.yml").write_text(text(crd({}, version="v1"), {"kind": "Other"}))
    (tmp_path / "c.yaml").write_text(text(crd({}, version="v0", served=False)))

    assert {(GROUP, KIND): Served("Cluster", ("v1", "v1alpha1"), "v1alpha1")} == read_crds(
        tmp_path
    ).kinds


def test_a_file_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    """Such as a template of a chart."""
    (tmp_path / "a.yaml").write_text("{{ if }}: [")

    with pytest.raises(ValueError, match=r"a\.yaml must be YAML"):
        read_crds(tmp_path)


def test_a_new_release_is_a_list_of_differences(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each on a line, and the exit code says that there are some."""
    workloads = {"type": "array", "minItems": 2, "items": {"type": "string"}}
    spec = {"type": "object", "required": ["workloads"], "properties": {"workloads": workloads}}
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "a.yaml").write_text(text(crd(spec)))

    assert 1 == main([str(folder), "--commit", "abc1234"], root)
    told = capsys.readouterr().out
    assert ["spec.workloads", "minItems=1", "minItems=2"] in [
        row.split()[2:] for row in told.splitlines()
    ]


def test_the_facts_of_a_new_release_are_kept(root: Path, tmp_path: Path) -> None:
    """With its commit; those of other API groups stay."""
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "a.yaml").write_text(text(crd({"type": "object"}), crd({}, kind="Novelty")))
    before = contents(root)
    main([str(folder), "--commit", "abc1234"], root)
    after = contents(root)

    table = f"fixtures/fields/{GROUP}/workloadrebalancer_v1alpha1.txt"
    assert "metadata  object\nspec  object\n" == after[table]
    assert "abc1234" == read_commits(root)["karmada"]
    assert ("Cluster", ("v1alpha1",), "v1alpha1") == read_tables(root).kinds[GROUP, "Novelty"]
    changed = {name for name in before if before[name] != after[name]}
    assert {table, "fixtures/crds/kinds.txt"} == changed
    assert '"Novelty"' in after["reconciler/dialects/karmada/crd_kinds.py"]


def test_a_commit_that_is_not_named_is_not_known(root: Path, tmp_path: Path) -> None:
    """A test then asks for it."""
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "a.yaml").write_text(text(crd({"type": "object"})))
    main([str(folder)], root)

    assert "unknown" == read_commits(root)["karmada"]


def test_a_commit_stays_while_the_facts_do(root: Path, tmp_path: Path) -> None:
    """Also where a table is made for the first time, for a schema that is new."""
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "a.yaml").write_text(text(crd({"type": "object"})))
    main([str(folder), "--commit", "abc1234"], root)
    table = root / f"fixtures/fields/{GROUP}/workloadrebalancer_v1alpha1.txt"
    table.unlink()
    main([str(folder)], root)

    assert table.exists()
    assert "abc1234" == read_commits(root)["karmada"]
