"""What is read of a commit: which files are input, what bad ones say, formats, edits refused."""

import gc
import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from reconciler.cli.main import run
from reconciler.core.inputs.validation import FileValidation
from reconciler.library.folder import read_folder
from reconciler.model.body import Body
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import Fault, World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.load import Loader, NewerFormat
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.builders import cluster, configuration, deployment, groups, path_of, policy, text
from tests.cli.history import SCALED
from tests.shell.daemon.test_serve_branch import served
from tests.shell.fleet import (
    EXAMPLE,
    MANIFESTS,
    ROOT,
    Clock,
    decisions,
    load_world,
    new_fleet,
    new_passes,
    run_pass,
)
from tests.shell.repositories import NOW, Checkout, new_checkout

WEB = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
"""
CLUSTER = EXAMPLE["clusters/member1.yaml"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Body]]:
    """What the example alone comes to."""
    fleet = new_fleet(tmp_path_factory.mktemp("plain") / "fleet")
    run_pass(fleet.folder, 0)
    return decisions(load_world(fleet.folder))


def commit_bytes(fleet: Checkout, files: Mapping[str, bytes]) -> str:
    """Commit files of any content."""
    for path, content in files.items():
        target = fleet.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    fleet.git("add", "--all", "--force")
    fleet.git("commit", "--quiet", "--message=Add files")
    return fleet.head()


def told(faults: tuple[Fault, ...]) -> list[str]:
    """Return faults as path, line and rule."""
    return [f"{fault.path}:{fault.line} {fault.rule}" for fault in faults]


OTHER_PROJECTS: dict[str, dict[str, str]] = {
    "helm": {
        "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
        "chart/values.yaml": "replicas: 2\n",
        "chart/values-prod.yaml": "replicas: {{ 2 }}\n",
        "chart/templates/web.yaml": "apiVersion: apps/v1\nkind: {{ .Kind }}\n{{- if .x }}\n",
    },
    "kustomize": {
        "base/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\n"
        "kind: Kustomization\nresources: [web.yaml]\n",
    },
    "compose": {"docker-compose.yml": 'services:\n  web:\n    image: x\n    ports: ["80:80"]\n'},
    "github": {".github/workflows/ci.yml": "on: push\njobs: {}\n"},
    "gitlab": {".gitlab-ci.yml": "a: !reference [.setup, script]\n"},
    "cloudformation": {
        "stack.yaml": "Resources:\n  Bucket:\n    Name: !Ref Name\n    Arn: !GetAtt Bucket.Arn\n"
    },
    "mkdocs": {
        "mkdocs.yml": "site_name: Docs\nmarkdown_extensions:\n- pymdownx.emoji:\n"
        "    emoji_index: !!python/name:material.extensions.emoji.twemoji\n"
    },
    "tsconfig": {"tsconfig.json": '{\n  // strict\n  "compilerOptions": {"strict": true,},\n}\n'},
    "npm": {"package.json": '{"name": "web", "version": "1.0.0"}\n'},
    "geojson": {"map.json": '{"type": "Feature", "kind": null}\n'},
    "ansible": {"play.yml": "- hosts: all\n  tasks:\n  - debug: msg={{ x }}\n"},
    "openapi": {"openapi.yaml": "openapi: 3.0.0\ninfo: {title: a, version: 1}\npaths: {}\n"},
    "pre-commit": {".pre-commit-config.yaml": "repos: []\n"},
    "kind": {"kind.yaml": "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes: []\n"},
    "kubeconfig": {"config.yaml": "apiVersion: v1\nkind: Config\nclusters: []\n"},
    "kubeadm": {"a.yaml": "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\n"},
    "yes": {"app.yaml": "debug: yes\ntime: 12:30:45\na: 1\na: 2\n"},
    "empty": {"a.yaml": "", "b.yml": "# nothing\n", "c.yaml": "---\n---\n", "d.json": "null\n"},
    "list": {"a.json": "[1, 2]\n", "b.yaml": "- a\n- b\n", "c.yaml": "just text\n"},
    "other-suffix": {"a.yaml.j2": "apiVersion: {{ x }}\n", "b.txt": CLUSTER},
}


@pytest.mark.parametrize("project", sorted(OTHER_PROJECTS))
def test_files_of_other_projects_are_ignored(
    tmp_path: Path, undisturbed: dict[str, list[Body]], project: str
) -> None:
    """They stand in the same repository and are not for us."""
    fleet = new_fleet(tmp_path / "fleet", OTHER_PROJECTS[project])

    report = run_pass(fleet.folder, 0)

    assert [] == told(report.outcome.faults)
    assert undisturbed == decisions(load_world(fleet.folder))
    assert 0 == run(["-C", str(fleet.folder), "validate"])


BROKEN_FILES: dict[str, tuple[bytes, str]] = {
    "conflict": (
        b"<<<<<<< HEAD\n" + CLUSTER.encode() + b"=======\n>>>>>>> other\n",
        "1 yaml-conflict-marker",
    ),
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
        "1 yaml-lfs-pointer",
    ),
    "utf-16": (WEB.encode("utf-16"), "1 yaml-encoding"),
    "utf-16-be": (WEB.encode("utf-16-be"), "1 yaml-encoding"),
    "latin-1": (WEB.encode() + b"# caf\xe9\n", "5 yaml-encoding"),
    "large": (WEB.encode() + b"# x\n" * (1 << 19), "1 yaml-size"),
    "tab": (WEB.encode() + b"data:\n\tx: y\n", "6 yaml-syntax"),
    "up-name": (WEB.replace("name: web", "name: ../../x").encode(), "4 identity-name"),
    "git-name": (WEB.replace("name: web", "name: .git").encode(), "4 identity-name"),
    "escape-name": (WEB.replace("name: web", r'name: "\e[2J"').encode(), "4 identity-name"),
    "long-name": (WEB.replace("web", "w" * 254).encode(), "4 identity-name"),
    "up-space": (WEB.encode() + b"  namespace: ../x\n", "5 identity-namespace"),
    "number-name": (WEB.replace("name: web", "name: 12").encode(), "4 identity-name"),
    "no-kind": (b"apiVersion: v1\nmetadata:\n  name: web\n", "1 identity-kind"),
    "alias": (WEB.encode() + b"data: &a\n  b: *a\n", "6 yaml-alias"),
    "list": (b"apiVersion: v1\nkind: List\nmetadata: {}\nitems: [a]\n", "4 list-items"),
    "binding": (
        (
            b"{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: a}, "
            b"spec: {resource: {apiVersion: v1, kind: ConfigMap, name: a}}}"
        ),
        "1 owned-kind",
    ),
    "configuration": (EXAMPLE["reconciler.yaml"].encode(), "2 configuration-path"),
}


@pytest.mark.parametrize("case", sorted(BROKEN_FILES))
def test_a_broken_file_is_told_and_disturbs_nobody(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    undisturbed: dict[str, list[Body]],
    case: str,
) -> None:
    """One fault with its line; `validate` says the same; nobody else notices."""
    content, expected = BROKEN_FILES[case]
    fleet = new_fleet(tmp_path / "fleet")
    commit_bytes(fleet, {"workloads/web.yaml": content})

    report = run_pass(fleet.folder, 0)

    assert [f"workloads/web.yaml:{expected}"] == told(report.outcome.faults)
    assert undisturbed == decisions(load_world(fleet.folder))
    assert 1 == run(["-C", str(fleet.folder), "validate"])
    shown = capsys.readouterr()
    assert shown.out.startswith("workloads/web.yaml")
    assert "\x1b" not in shown.out


def test_a_binary_file_is_ignored(tmp_path: Path, undisturbed: dict[str, list[Body]]) -> None:
    """A name ending in .yaml makes no manifest."""
    fleet = new_fleet(tmp_path / "fleet")
    commit_bytes(fleet, {"logo.yaml": bytes(range(256)) * 8})

    assert [] == told(run_pass(fleet.folder, 0).outcome.faults)
    assert undisturbed == decisions(load_world(fleet.folder))


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside.yaml", "member1.yaml", "x.yaml"])
def test_a_link_is_never_followed(
    tmp_path: Path, undisturbed: dict[str, list[Body]], target: str
) -> None:
    """Neither out of the repository nor within."""
    (tmp_path / "outside.yaml").write_text(CLUSTER.replace("member1", "outside"))
    fleet = new_fleet(tmp_path / "fleet")
    (fleet.folder / "clusters" / "x.yaml").symlink_to(target)
    commit_bytes(fleet, {})

    assert [] == told(run_pass(fleet.folder, 0).outcome.faults)
    assert undisturbed == decisions(load_world(fleet.folder))
    assert 0 == run(["-C", str(fleet.folder), "validate"])


def test_a_folder_named_like_a_manifest_is_a_folder(
    tmp_path: Path, undisturbed: dict[str, list[Body]]
) -> None:
    """What it holds is read."""
    files = {path: text for path, text in EXAMPLE.items() if path != "clusters/member1.yaml"}
    fleet = new_checkout(tmp_path / "fleet", {**files, "clusters/x.yaml/member1.yaml": CLUSTER})

    assert [] == told(run_pass(fleet.folder, 0).outcome.faults)
    assert undisturbed == decisions(load_world(fleet.folder))


def test_a_submodule_is_not_entered(tmp_path: Path, undisturbed: dict[str, list[Body]]) -> None:
    """Its manifests belong to another repository."""
    other = new_checkout(tmp_path / "other", {"x.yaml": CLUSTER.replace("member1", "other")})
    fleet = new_fleet(tmp_path / "fleet")
    fleet.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(other.folder), "sub"
    )
    fleet.git("commit", "--quiet", "--message=Add a submodule")

    assert [] == told(run_pass(fleet.folder, 0).outcome.faults)
    assert undisturbed == decisions(load_world(fleet.folder))


@pytest.mark.parametrize("path", MANIFESTS)
def test_a_half_written_file_never_ends_in_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    """Cut at every 20th byte, a file is valid, ignored, or told with its path and line."""
    text = EXAMPLE[path].encode()
    (tmp_path / "clusters").mkdir()
    for end in range(0, len(text), 20):
        place = tmp_path / path
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(text[:end])

        code = run(["-C", str(tmp_path), "validate"])
        shown = capsys.readouterr()

        assert code in (0, 1)
        nothing = "no manifest was found" in shown.err
        assert (code == 1) == (": error: " in shown.out or nothing), shown.out
        assert not shown.out or shown.out.startswith(f"{path}:"), shown.out


@pytest.mark.parametrize("other", ["workloads/shop.yaml", "workloads/more.yaml"])
def test_an_object_written_twice_is_told_at_both_places(tmp_path: Path, other: str) -> None:
    """Each place names the other; neither takes effect, an earlier decision stays."""
    shop = EXAMPLE["workloads/shop.yaml"]
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    before = decisions(load_world(fleet.folder))
    twice = f"{shop}---\n{shop}" if other == "workloads/shop.yaml" else shop
    fleet.commit({other: twice})

    report = run_pass(fleet.folder, 2)

    assert ["identity-duplicate"] * 2 == [fault.rule for fault in report.outcome.faults]
    first, second = report.outcome.faults
    assert f"{second.path}:{second.line}" in first.message
    assert f"{first.path}:{first.line}" in second.message
    assert before == decisions(load_world(fleet.folder))
    assert report.commit is not None
    assert run_pass(fleet.folder, 4).commit is None


BODIES = (cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])), deployment())

CONFIGURATIONS = [
    pytest.param({}, id="nothing is delivered"),
    pytest.param({"delivery": {"folders": {}}}, id="folders"),
    pytest.param({"delivery": {"folders": {"path": "out/{cluster}/apps"}}}, id="at a path"),
    pytest.param(
        {"delivery": {"decisions": {}, "works": {"hubsWithoutControllers": True}}},
        id="decisions and works",
    ),
    pytest.param({"delivery": {"folders": {}}, "exclude": ["drafts/**"]}, id="with an exclusion"),
    pytest.param(
        {"delivery": {"folders": {}}, "include": ["**/*.yaml"]}, id="with everything included"
    ),
]


def delivered_fleet(tmp_path: Path, spec: Mapping[str, object], root: str = "") -> Path:
    """A fleet of this configuration, below a folder of the repository, after two passes."""
    configuration = {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": {"name": "fleet"},
        "spec": dict(spec),
    }
    files = {path_of(body): text(body) for body in BODIES}
    files |= {"reconciler.yaml": text(configuration)}
    below = {f"{root}{path}": content for path, content in files.items()}
    fleet: Checkout = new_checkout(tmp_path / "fleet", below)
    folder = fleet.folder / root
    run_pass(folder, 0)
    run_pass(folder, 5)
    return folder


@pytest.mark.parametrize("root", ["", "teams/a/"])
@pytest.mark.parametrize("spec", CONFIGURATIONS)
def test_every_reader_reads_the_same_files(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    spec: Mapping[str, object],
    root: str,
) -> None:
    """Passes, the library, `validate` on disk and of a commit, from the root and from elsewhere."""
    folder = delivered_fleet(tmp_path, spec, root)
    expected = set(load_world(folder).inputs)
    monkeypatch.chdir(tmp_path)
    at = ["-C", str(folder)]

    assert {deployment()["kind"]} <= {key.kind for key in expected}
    assert expected == set(read_folder(folder).inputs)
    check = [*at, "validate", "--kubernetes-version=none"]  # the workloads lack much
    for asked in ([], ["--rev", "HEAD"], ["."]):
        assert (0, f"{len(expected)} manifests valid, 0 faults") == (
            run([*check, *asked]),
            capsys.readouterr().err.splitlines()[-1],
        )


@pytest.mark.parametrize("spec", CONFIGURATIONS)
def test_what_is_delivered_is_not_edited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: Mapping[str, object]
) -> None:
    """`suspend` finds the workload in the person's file, in the checkout and for a branch."""
    folder = delivered_fleet(tmp_path, spec)
    asked = ["-C", str(folder), "suspend", "deployment/web", "--dry-run", "-o", "json"]

    for where in ([], ["--branch", "hold", "--author", "Ada <ada@example.com>"]):
        assert 0 == run([*asked, *where])
        assert path_of(deployment()) == json.loads(capsys.readouterr().out)["path"]


def test_nothing_is_written_into_a_folder_that_passes_write_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rebalancers go to `rebalancers/`; where that is delivered to, one would never be read."""
    folder = delivered_fleet(tmp_path, {"delivery": {"folders": {"path": "rebalancers/{cluster}"}}})

    assert 2 == run(["-C", str(folder), "rebalance", "deployment/web"])
    assert "would not be read" in capsys.readouterr().err
    assert not list(folder.glob("rebalancers/*.yaml"))


def test_a_file_that_is_named_is_checked_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person who asks about a delivered file gets an answer; a hook can leave it out."""
    folder = delivered_fleet(tmp_path, {"delivery": {"folders": {}}})
    delivered = next(folder.glob("delivery/a/**/*web*.yaml")).relative_to(folder).as_posix()
    at = ["-C", str(folder), "validate", "--no-references", str(folder / delivered)]
    at += ["--kubernetes-version=none"]

    assert 0 == run(at)
    assert "1 manifest valid" in capsys.readouterr().err
    assert 0 == run([*at, "--force-exclude"])
    assert "no manifest was found" in capsys.readouterr().err


RECORD = "status/reconciler.yaml"
CONFIGURATION = "reconciler.yaml"
KNOWN, NEWER = "formatVersion: 2", "formatVersion: 3"
HEAD = "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"


def golden(folder: Path, name: str) -> Checkout:
    """A repository that a release left with nothing to do."""
    kept = ROOT / "tests/formats" / name
    files = [place for place in sorted(kept.rglob("*")) if place.is_file()]
    return new_checkout(folder, {str(one.relative_to(kept)): one.read_text() for one in files})


def newer(fleet: Checkout) -> None:
    """Let a later release have run its pass."""
    text = (fleet.folder / RECORD).read_text()
    assert KNOWN in text
    fleet.commit({RECORD: text.replace(KNOWN, NEWER)})


@pytest.mark.parametrize("name", ["2", "1", "older"])
def test_a_repository_of_a_known_format_is_not_rewritten(tmp_path: Path, name: str) -> None:
    """There is nothing to do, so nothing is written, not even the number of the format."""
    fleet = golden(tmp_path / "fleet", name)

    report = run_pass(fleet.folder, 3600)

    assert ((), None) == (report.outcome.changes, report.commit)


def test_the_next_pass_over_an_older_format_writes_its_number(tmp_path: Path) -> None:
    """With whatever it has to write anyway; what stands there is read as it was meant."""
    fleet = golden(tmp_path / "fleet", "older")
    before = (fleet.folder / RECORD).read_text()
    shop = (fleet.folder / "workloads/shop.yaml").read_text()
    fleet.commit({"workloads/shop.yaml": shop.replace("replicas: 2", "replicas: 3")})

    report = run_pass(fleet.folder, 3600)

    assert (False, True) == (KNOWN in before, KNOWN in (fleet.folder / RECORD).read_text())
    assert ["default/shop"] == [one.subject for one in report.outcome.decisions]


def test_a_record_of_a_newer_format_holds_the_pass(tmp_path: Path) -> None:
    """What it means is not known, so nothing is decided from it, and nothing written over it."""
    fleet = golden(tmp_path / "fleet", "2")
    newer(fleet)
    before = fleet.head()

    with pytest.raises(NewerFormat, match=r"status/reconciler.yaml has formatVersion 3, and this"):
        run_pass(fleet.folder, 3600)

    assert before == fleet.head()


def test_a_record_of_another_api_holds_the_pass(tmp_path: Path) -> None:
    """Its fields may have other names."""
    fleet = golden(tmp_path / "fleet", "2")
    text = (fleet.folder / RECORD).read_text()
    fleet.commit({RECORD: text.replace("reconciler.dev/v1alpha1", "reconciler.dev/v9")})

    with pytest.raises(NewerFormat, match=r'has apiVersion "reconciler\.dev/v9"'):
        run_pass(fleet.folder, 3600)


def test_a_configuration_of_a_newer_format_holds_the_pass(tmp_path: Path) -> None:
    """Its settings may mean something else, though this release would take them for faults."""
    fleet = new_fleet(
        tmp_path / "fleet", {CONFIGURATION: f"{HEAD}{NEWER}\nmetadata: {{name: x}}\n"}
    )

    with pytest.raises(NewerFormat, match=r"reconciler.yaml has formatVersion 3"):
        load_world(fleet.folder)


@pytest.mark.parametrize(
    "text", ["formatVersion: 1", "formatVersion: x", "formatVersion: true", "status: 7", "kind: 3"]
)
def test_what_is_wrong_otherwise_is_a_fault_as_ever(tmp_path: Path, text: str) -> None:
    """The world is loaded."""
    body = (
        "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\nmetadata: {name: x}\n"
    )
    if text.startswith("kind"):
        body = body.replace("kind: ReconcilerConfiguration\n", "")
    fleet = new_fleet(tmp_path / "fleet", {CONFIGURATION: f"{body}{text}\n"})

    assert load_world(fleet.folder).revision == fleet.head()


def test_a_daemon_holds_before_a_newer_format(tmp_path: Path) -> None:
    """It stays up, tells why, and goes on when the format is one that it knows."""
    fleet = golden(tmp_path / "fleet", "2")
    clock = Clock(NOW + timedelta(hours=1))
    newer(fleet)
    shop = (fleet.folder / "workloads/shop.yaml").read_text()

    def back() -> None:
        fleet.git("revert", "--no-edit", "HEAD")
        fleet.commit({"workloads/shop.yaml": shop.replace("replicas: 2", "replicas: 3")})

    with capture_logs() as logs:
        served(fleet, clock, lambda: None, lambda: None, back, lambda: None)

    told = [str(entry.get("error")) for entry in logs if entry["event"].startswith("pass failed")]
    assert 2 == len(told)
    assert "upgrade the reconciler" in told[0]
    assert "pass committed" in [entry["event"] for entry in logs]
    assert new_passes(fleet.folder, clock).branch.head() == fleet.head()


SHOP, MEMBER = "workloads/shop.yaml", "clusters/member1.yaml"
DEPLOYMENT = frozenset({("apps", "Deployment")})


def edited(world: World) -> dict[str, frozenset[tuple[str, str]] | None]:
    """Path to kinds."""
    return dict(world.edited)


def test_files_that_differ_have_the_kinds_that_they_hold(tmp_path: Path) -> None:
    """One that is gone has none, what passes wrote and what is no manifest is not among them."""
    fleet = new_fleet(tmp_path / "fleet")
    assert {} == edited(load_world(fleet.folder))
    run_pass(fleet.folder, 0)
    assert {} == edited(load_world(fleet.folder))

    fleet.git("rm", "--quiet", MEMBER)
    fleet.commit({**SCALED, "notes.txt": "mine"})

    assert {SHOP: DEPLOYMENT, MEMBER: None} == edited(load_world(fleet.folder))


def test_following_is_looking_at_everything(tmp_path: Path) -> None:
    """From commit to commit, with edits that are taken back, and with passes in between."""
    fleet = new_fleet(tmp_path / "fleet")
    repository = Repository.open(fleet.folder)
    loader = Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout())
    run_pass(fleet.folder, 0)
    steps = (
        {SHOP: SCALED[SHOP]},
        {SHOP: EXAMPLE[SHOP], MEMBER: EXAMPLE[MEMBER] + "\n"},
        {"workloads/new.yaml": EXAMPLE[SHOP].replace("name: shop", "name: new")},
        {"reconciler.yaml": text(configuration(exclude=["clusters/**"]))},
        {SHOP: SCALED[SHOP]},
    )
    seen = []
    for number, files in enumerate(steps):
        fleet.commit(files)
        if number == len(steps) - 1:
            run_pass(fleet.folder, 60)
        followed = edited(loader.load(repository.resolve("main")))
        assert edited(load_world(fleet.folder)) == followed
        seen.append(set(followed))

    assert [{SHOP}, {MEMBER}] == seen[:2]
    assert MEMBER not in seen[3]
    assert set() == seen[-1]


POLICY, SCALED_SHOP = "policies/shop.yaml", "workloads/frontend.yaml"
EDITED = EXAMPLE[POLICY].replace("spec:\n", "spec:\n  schedulerName: other\n", 1)
Capture = pytest.CaptureFixture[str]


def test_a_refused_edit_changes_no_decision(tmp_path: Path, capsys: Capture) -> None:
    """By processes that remember nothing; taken back, it leaves no report."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 5)
    before = decisions(load_world(fleet.folder))
    fleet.commit({POLICY: EDITED})
    code = run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:00:10Z"])

    assert (1, before) == (code, decisions(load_world(fleet.folder)))
    assert f"{POLICY}:" in capsys.readouterr().err
    assert run_pass(fleet.folder, 12).commit is None

    fleet.commit({POLICY: EXAMPLE[POLICY]})
    code = run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:00:14Z"])

    assert (0, before) == (code, decisions(load_world(fleet.folder)))
    assert not (fleet.folder / "status/faults.yaml").exists()


def test_a_refused_edit_is_followed_as_it_is_read_anew(tmp_path: Path) -> None:
    """A daemon that goes on from commit to commit has the same world as one that was restarted."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    passes = new_passes(fleet.folder, clock)
    passes.run()
    for files, expected in (
        ({POLICY: EDITED}, ["policy-immutable"]),
        (
            {SCALED_SHOP: EXAMPLE[SCALED_SHOP].replace("replicas: 6", "replicas: 9")},
            ["policy-immutable"],
        ),
        ({POLICY: f"{EDITED}# the same\n"}, ["policy-immutable"]),
        ({POLICY: EXAMPLE[POLICY]}, []),
    ):
        fleet.commit(files)
        clock.moment += timedelta(seconds=60)
        outcome = passes.run().outcome
        fresh = load_world(fleet.folder)

        assert (expected, expected) == (
            [fault.rule for fault in outcome.faults],
            [fault.rule for fault in fresh.faults],
        )


def test_a_refused_edit_is_told_before_the_merge(tmp_path: Path, capsys: Capture) -> None:
    """A plan says that nothing moves, and why."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.git("switch", "--quiet", "--create", "given-away")
    fleet.commit({POLICY: EDITED})
    fleet.git("switch", "--quiet", "main")
    run(["-C", str(fleet.folder), "plan", "--head", "given-away"])
    told = capsys.readouterr().out

    assert "; nothing moves" in told
    assert "`schedulerName` must stay" in told


RECORD_PATH = "status/reconciler.yaml"
RECORDED = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerStatus
metadata:
  name: reconciler
status:
  version: "%d"
"""


def kept_files() -> int:
    """How many inspected files there are in this process."""
    gc.collect()
    return sum(isinstance(one, FileValidation) for one in gc.get_objects())


def test_versions_of_the_past_are_forgotten(tmp_path: Path) -> None:
    """Of inputs and of outputs."""
    checkout = new_checkout(tmp_path / "r", {"web.yaml": text(deployment())})
    loader = Loader(
        GitTrees(Repository.open(checkout.folder)), load_schemas(), layout=RepositoryLayout()
    )
    loader.load(checkout.head())
    counts = []
    for number in range(4):
        checkout.commit(
            {"web.yaml": text(deployment(replicas=number)), RECORD_PATH: RECORDED % number}
        )
        loader.load(checkout.head())
        counts.append(kept_files())

    assert counts[1:] == counts[1:2] * 3
