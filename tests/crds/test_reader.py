"""CRDs are read for their facts, and the facts are kept."""

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree

import pytest

from reconciler.model.body import Body
from tests.builders import text
from tests.crds.__main__ import main
from tests.crds.facts import KindVersion, line_of
from tests.crds.reader import Rule, Served, read_crds
from tests.crds.tables import read_commits, read_tables
from tests.shell.fleet import ROOT

GROUP, KIND = "apps.karmada.io", "WorkloadRebalancer"
REBALANCER = KindVersion(GROUP, "v1alpha1", KIND)


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
    return line_of(read_crds(folder).fields[REBALANCER]["spec.a"])


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

    assert {REBALANCER: (expected,)} == read_crds(tmp_path).rules


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
