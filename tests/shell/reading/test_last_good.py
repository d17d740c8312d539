"""What a file said last stays in force until it is mended, or can be read by its name."""

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.core.inputs.index import InputFiles
from reconciler.manifests.paths import FAULTS, is_escaped, is_manifest_name, shown_path, stored_path
from reconciler.model.fields import bodies, number
from tests.builders import cluster, deployment, groups, path_of, policy, text
from tests.shell.fleet import (
    EXAMPLE,
    MANIFESTS,
    Clock,
    commit_beside_daemon,
    decisions,
    eventually,
    load_world,
    new_fleet,
    new_passes,
    reconciler,
    run_pass,
    running,
    subjects,
)
from tests.shell.repositories import NOW, Checkout, new_checkout

REPORT = "status/faults.yaml"


def cut_off(text: str) -> str:
    """Break the syntax: the file ends in the middle of a word in quotes."""
    return f'{text}extra: "half a wo'


def misspell(text: str) -> str:
    """Break the schema or, where there is none, the identity: the name has capitals and spaces."""
    return text.replace("  name: ", "  name: Not A Name ", 1)


def rename_field(text: str) -> str:
    """Take the name away, so that it cannot be told whose the document is."""
    return text.replace("  name: ", "  nane: ", 1)


def wrong_type(text: str) -> str:
    """Give the metadata another shape."""
    return text.replace("metadata:\n", "metadata: 3\nother:\n", 1)


def no_metadata(text: str) -> str:
    """Misspell the field that holds the name."""
    return text.replace("metadata:\n", "metadta:\n", 1)


def conflict(text: str) -> str:
    """Leave a merge unresolved."""
    return f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> other\n"


def empty_braces(text: str) -> str:
    """Leave a template behind."""
    return text.replace("  name: ", "  name: {{ .Values.name }} # ", 1)


BREAKS = [cut_off, misspell, rename_field, wrong_type, no_metadata, conflict, empty_braces]


def faults_in(fleet: Checkout) -> list[tuple[str, int]]:
    """Return path and line of each fault that the head's report has."""
    report = load_world(fleet.folder).outputs.get(FAULTS)
    found = bodies(report.body, "faults") if report is not None else []
    return [(str(fault["path"]), int(str(fault["line"]))) for fault in found]


@pytest.mark.parametrize("broken", BREAKS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("path", MANIFESTS)
def test_a_file_that_breaks_changes_no_decision(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    path: str,
    broken: Callable[[str], str],
) -> None:
    """It is reported with its line, once; when it is mended the report is gone."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 5)
    before = decisions(load_world(fleet.folder))

    fleet.commit({path: broken(EXAMPLE[path])})
    code = run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:00:10Z"])

    assert 1 == code
    assert f"{path}:" in capsys.readouterr().err
    assert before == decisions(load_world(fleet.folder))
    assert {path} == {found for found, _ in faults_in(fleet)}
    assert all(line >= 1 for _, line in faults_in(fleet))

    again = run_pass(fleet.folder, 12)

    assert again.commit is None
    assert again.outcome.faults

    fleet.commit({path: EXAMPLE[path]})
    code = run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:00:14Z"])

    assert 0 == code
    assert not (fleet.folder / REPORT).exists()
    assert before == decisions(load_world(fleet.folder))
    assert run_pass(fleet.folder, 16).commit is None


@pytest.mark.parametrize("path", MANIFESTS)
def test_a_good_edit_takes_effect_beside_a_broken_file(tmp_path: Path, path: str) -> None:
    """One commit breaks a file and scales a workload; the scale is decided."""
    name, replicas = ("shop", 2) if path == "workloads/frontend.yaml" else ("frontend", 6)
    scaled = f"workloads/{name}.yaml"
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    before = decisions(load_world(fleet.folder))

    fleet.commit(
        {
            path: cut_off(EXAMPLE[path]),
            scaled: EXAMPLE[scaled].replace(f"replicas: {replicas}", "replicas: 9"),
        }
    )
    run_pass(fleet.folder, 5)

    after = decisions(load_world(fleet.folder))
    changed = [key for key in before if before[key] != after[key]]
    assert 1 == len(changed)
    assert name in changed[0]
    assert 9 == sum(number(cluster, "replicas") for cluster in after[changed[0]])
    assert [path] == [found for found, _ in faults_in(fleet)]


def test_a_broken_file_that_is_renamed_or_removed_is_gone(tmp_path: Path) -> None:
    """Removing is not breaking: the workload leaves its clusters."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.commit({"workloads/shop.yaml": "kind: [\napiVersion"})
    run_pass(fleet.folder, 2)
    assert 3 == len(decisions(load_world(fleet.folder)))

    fleet.git("rm", "--quiet", "workloads/shop.yaml")
    fleet.git("commit", "--quiet", "--message=Remove the shop")
    run_pass(fleet.folder, 4)

    assert 2 == len(decisions(load_world(fleet.folder)))
    assert not (fleet.folder / REPORT).exists()


def test_a_faulty_configuration_keeps_the_last_good_one(tmp_path: Path) -> None:
    """What it excluded stays excluded."""
    configuration = EXAMPLE["reconciler.yaml"].replace("spec:\n", "spec:\n  exclude: [old/**]\n")
    old = EXAMPLE["workloads/shop.yaml"].replace("name: shop", "name: old-shop")
    fleet = new_fleet(tmp_path / "fleet", {"reconciler.yaml": configuration, "old/shop.yaml": old})
    run_pass(fleet.folder, 0)
    before = decisions(load_world(fleet.folder))
    assert 3 == len(before)

    fleet.commit({"reconciler.yaml": configuration.replace("exclude: [old", "exclude: [{old")})
    report = run_pass(fleet.folder, 5)

    assert ["reconciler.yaml"] == [fault.path for fault in report.outcome.faults]
    assert before == decisions(load_world(fleet.folder))


def test_a_configuration_in_a_subfolder_is_told(tmp_path: Path) -> None:
    """It has no effect there, and must not look as if it had."""
    fleet = new_fleet(tmp_path / "fleet", {"apps/reconciler.yaml": EXAMPLE["reconciler.yaml"]})

    report = run_pass(fleet.folder, 0)

    assert [("apps/reconciler.yaml", "configuration-path")] == [
        (fault.path, fault.rule) for fault in report.outcome.faults
    ]


def test_a_subfolder_can_be_served_with_its_own_configuration(tmp_path: Path) -> None:
    """`-C` names the root; nothing outside of it is read or written."""
    inner = {f"fleet/{path}": text for path, text in EXAMPLE.items()}
    fleet = new_fleet(tmp_path / "mono", inner)
    (tmp_path / "mono" / "fleet").mkdir(exist_ok=True)

    assert 0 == run(["-C", str(fleet.folder / "fleet"), "reconcile"])

    assert (fleet.folder / "fleet" / "status" / "reconciler.yaml").is_file()
    assert not (fleet.folder / "status").exists()
    assert "" == fleet.status()
    assert 0 == run(["-C", str(fleet.folder / "fleet"), "get", "clusters"])


def test_the_daemon_goes_on_while_files_break(tmp_path: Path) -> None:
    """One process; each file breaks and is mended in turn."""
    fleet = new_fleet(tmp_path / "fleet")
    with running(fleet.folder) as process:
        eventually(lambda: len(decisions(load_world(fleet.folder))) == 3, "first placement")
        before = decisions(load_world(fleet.folder))
        for path in ("clusters/member1.yaml", "policies/shop.yaml", "workloads/shop.yaml"):
            commit_beside_daemon(fleet, {path: conflict(EXAMPLE[path])})
            eventually(lambda: bool(faults_in(fleet)), f"the report of {path}")
            assert {path} == {found for found, _ in faults_in(fleet)}
            assert before == decisions(load_world(fleet.folder))
            commit_beside_daemon(fleet, {path: EXAMPLE[path]})
            eventually(lambda: not faults_in(fleet), f"the end of the report of {path}")
            assert before == decisions(load_world(fleet.folder))
        assert process.poll() is None
    assert "" == fleet.status()
    assert "Report 1 fault" in " ".join(subjects(fleet))


@pytest.mark.parametrize("link", ["workloads/shop.yaml", "workloads", "clusters"])
def test_a_link_in_the_place_of_files_changes_no_decision(tmp_path: Path, link: str) -> None:
    """It is reported; with the files back, or the link gone, the report is gone."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 5)
    before = decisions(load_world(fleet.folder))
    good = fleet.head()

    fleet.git("rm", "-r", "--quiet", link)
    (fleet.folder / link).parent.mkdir(exist_ok=True)
    (fleet.folder / link).symlink_to("../elsewhere")
    fleet.git("add", link)
    fleet.git("commit", "--quiet", "--message=Link it")
    run_pass(fleet.folder, 10)

    assert before == decisions(load_world(fleet.folder))
    assert {link} == {found["path"] for found in reported(fleet)}
    assert run_pass(fleet.folder, 12).commit is None

    fleet.git("rm", "--quiet", link)
    fleet.git("checkout", "--quiet", good, "--", link)
    fleet.git("commit", "--quiet", "--message=Put it back")
    run_pass(fleet.folder, 14)

    assert before == decisions(load_world(fleet.folder))
    assert not (fleet.folder / REPORT).exists()


def reported(fleet: Checkout) -> list[Mapping[str, object]]:
    """Return each fault that the head's report has."""
    report = load_world(fleet.folder).outputs.get(FAULTS)
    return list(bodies(report.body, "faults")) if report is not None else []


def test_a_configuration_replaced_by_a_link_stays_in_force(tmp_path: Path) -> None:
    """What it excludes is not read all of a sudden."""
    excluding = (
        "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"
        "metadata: {name: fleet}\nspec: {exclude: [drafts/**]}\n"
    )
    draft = EXAMPLE["workloads/shop.yaml"].replace("name: shop", "name: draft")
    fleet = new_fleet(
        tmp_path / "fleet", {"reconciler.yaml": excluding, "drafts/draft.yaml": draft}
    )
    run_pass(fleet.folder, 0)
    before = decisions(load_world(fleet.folder))

    (fleet.folder / "reconciler.yaml").unlink()
    (fleet.folder / "reconciler.yaml").symlink_to("elsewhere.yaml")
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Link it")
    run_pass(fleet.folder, 5)

    assert before.keys() == decisions(load_world(fleet.folder)).keys()
    assert ["reconciler.yaml"] == [found["path"] for found in reported(fleet)]


def test_a_crd_that_breaks_still_says_what_scope_its_kind_has(tmp_path: Path) -> None:
    """Otherwise what it describes would be another object, and its binding would go."""
    crd = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "metadata: {name: widgets.example.org}\n"
        "spec: {group: example.org, names: {kind: Widget}, scope: Namespaced}\n"
    )
    policy = (
        "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\n"
        "metadata: {name: widgets}\nspec:\n"
        "  resourceSelectors: [{apiVersion: example.org/v1, kind: Widget}]\n"
        "  placement: {clusterAffinity: {clusterNames: [member1]}}\n"
    )
    widget = "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w}\n"
    fleet = new_fleet(
        tmp_path / "fleet", {"crd.yaml": crd, "policy.yaml": policy, "widget.yaml": widget}
    )
    run_pass(fleet.folder, 0)
    before = decisions(load_world(fleet.folder))
    assert any("Widget" in key or "w-widget" in key for key in before)

    fleet.commit({"crd.yaml": cut_off(crd)})
    run_pass(fleet.folder, 5)

    assert before == decisions(load_world(fleet.folder))


WEB = path_of(deployment())
FOLDER, _, FILE = WEB.rpartition("/")
STEM = FILE.removesuffix(".yaml")
BODIES = (cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])), deployment())

ODD = [
    pytest.param(f"{FOLDER}/{STEM}\u00a0.yaml", "U+00A0 NO-BREAK SPACE", id="a no-break space"),
    pytest.param(f"{FOLDER}/{STEM}\u202e.yaml", "U+202E RIGHT-TO-LEFT OVERRIDE", id="a bidi mark"),
    pytest.param(f"{FOLDER}/\x1b[2J{FILE}", "U+001B", id="an escape"),
    pytest.param(f"{FOLDER}/web\n.yaml", "U+000A", id="a line break"),
    pytest.param(f"{FOLDER}/caf\udce9.yaml", "the byte 351", id="bytes of Latin-1"),
    pytest.param(f"{WEB}\u200b", "U+200B ZERO WIDTH SPACE", id="something behind the suffix"),
    pytest.param(f"{FOLDER}\u2028/{FILE}", "U+2028 LINE SEPARATOR", id="a folder"),
    pytest.param(f"{FOLDER}/web\\302\\240.yaml", "a backslash", id="an escape that is spelled out"),
]


def placed(tmp_path: Path) -> Checkout:
    """A fleet whose workload is placed."""
    fleet = new_checkout(tmp_path / "fleet", {path_of(body): text(body) for body in BODIES})
    run_pass(fleet.folder, 0)
    return fleet


def placed_replicas(fleet: Checkout) -> object:
    """How many replicas the workload has on the first cluster."""
    (clusters,) = decisions(load_world(fleet.folder)).values()
    return clusters[0]["replicas"]


def rename(fleet: Checkout, name: str) -> None:
    """Give the workload's file another name, its content the same to the letter."""
    target = fleet.folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(fleet.folder / WEB, target)  # noqa: PTH104  # a name that is not UTF-8
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Rename")


@pytest.mark.parametrize(("name", "held"), ODD)
def test_a_rename_to_an_odd_name_removes_nothing(tmp_path: Path, name: str, held: str) -> None:
    """The pass tells it with its name escaped and exits with 1; mending the name mends all."""
    fleet = placed(tmp_path)
    before = decisions(load_world(fleet.folder))
    rename(fleet, name)

    told = reconciler(fleet.folder, "reconcile", "--now", "2026-11-20T12:00:10Z")
    checked = reconciler(fleet.folder, "validate")
    of_commit = reconciler(fleet.folder, "validate", "--rev", "HEAD")
    again = run_pass(fleet.folder, 20)

    assert before == decisions(load_world(fleet.folder))
    assert (1, 1, 1) == (told.code, checked.code, of_commit.code)
    for said in (told.stderr, checked.stdout, of_commit.stdout):
        assert f"{shown_path(name)}:1:1: " in said
        assert f"the path of the file holds {held}" in said
        assert "Deployment default/web does not take effect; what was in force stays" in said
        assert f"such as {FOLDER}/" in said
    assert [shown_path(name)] == [fault.path for fault in again.outcome.faults]
    assert again.commit is None

    os.rename(fleet.folder / os.fsencode(name).decode(errors="surrogateescape"), fleet.folder / WEB)  # noqa: PTH104
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Mend")
    mended = run_pass(fleet.folder, 30)

    assert () == mended.outcome.faults
    assert before == decisions(load_world(fleet.folder))


def test_a_daemon_that_follows_tells_an_odd_name_too(tmp_path: Path) -> None:
    """What a pass told from the commit before finds is what a first look finds."""
    fleet = placed(tmp_path)
    clock = Clock(NOW + timedelta(seconds=10))
    passes = new_passes(fleet.folder, clock)
    passes.run()
    rename(fleet, f"{FOLDER}/web\u00a0.yaml")
    clock.moment += timedelta(seconds=5)

    followed = passes.run()

    assert ["file-name"] == [fault.rule for fault in followed.outcome.faults]
    assert [{"name": "a", "replicas": 2}] in decisions(load_world(fleet.folder)).values()


def test_an_odd_name_holds_what_it_names_only(tmp_path: Path) -> None:
    """A workload that is deleted in the same commit is deleted; one beside it is scaled."""
    fleet = placed(tmp_path)
    api = deployment("api")
    fleet.commit({path_of(api): text(api)})
    run_pass(fleet.folder, 5)
    fleet.git("rm", "--quiet", path_of(api))
    rename(fleet, f"{FOLDER}/web\u00a0.yaml")

    run_pass(fleet.folder, 10)

    bindings = decisions(load_world(fleet.folder))
    assert 1 == len(bindings)
    assert "web-deployment" in next(iter(bindings))


def test_a_file_of_another_program_may_have_any_name(tmp_path: Path) -> None:
    """It holds no manifest, so nobody is told."""
    fleet = placed(tmp_path)
    fleet.commit({"data/odd\u00a0.yaml": "colours: [red]\n"})

    assert () == run_pass(fleet.folder, 10).outcome.faults
    assert 0 == reconciler(fleet.folder, "validate", "--kubernetes-version=none").code


@pytest.mark.parametrize("folder", ["status/resourcebindings.work.karmada.io", "delivery/a"])
def test_an_odd_name_among_our_files_stops_nothing(tmp_path: Path, folder: str) -> None:
    """It is neither read nor removed."""
    configuration = {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": {"name": "fleet"},
        "spec": {"delivery": {"folders": {}}},
    }
    fleet = placed(tmp_path)
    fleet.commit({"reconciler.yaml": text(configuration)})
    run_pass(fleet.folder, 5)
    odd = f"{folder}/odd\u00a0.yaml"
    fleet.commit({odd: text(deployment("odd"))})

    report = run_pass(fleet.folder, 10)

    assert () == report.outcome.faults
    assert (fleet.folder / odd).exists()


def test_the_work_tree_is_planned_with_its_odd_names(tmp_path: Path) -> None:
    """An uncommitted rename moves nothing in the plan either."""
    fleet = placed(tmp_path)
    os.rename(fleet.folder / WEB, fleet.folder / f"{FOLDER}/caf\udce9.yaml")  # noqa: PTH104

    planned = reconciler(fleet.folder, "plan", "--worktree")

    assert "caf\\351.yaml" in planned.stdout + planned.stderr
    assert "nowhere" not in planned.stdout


def test_paths_are_shown_one_to_one() -> None:
    """A shown name leads back to its stored one, and is printable."""
    for name in (param.values[0] for param in ODD):
        shown = shown_path(str(name))

        assert name == stored_path(shown)
        assert shown.isprintable()
        assert is_escaped(shown)
        assert is_manifest_name(shown)
        assert InputFiles(("status/",))(shown)


def test_the_daemon_tells_an_odd_name(tmp_path: Path) -> None:
    """The daemon runs on, tells the fault, and takes the next edit."""
    fleet = placed(tmp_path)
    with running(fleet.folder):
        commit_beside_daemon(fleet, {"workloads/odd\u00a0.yaml": text(deployment("odd"))})
        eventually((fleet.folder / "status/faults.yaml").exists, "the fault is told")
        assert "rule: file-name" in (fleet.folder / "status/faults.yaml").read_text()
        commit_beside_daemon(fleet, {WEB: text(deployment(replicas=5))})
        eventually(lambda: 5 == placed_replicas(fleet), "the next edit")
