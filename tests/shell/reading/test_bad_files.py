"""Files that are no manifests, or broken ones: each is told once, and disturbs nobody."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.body import Body
from reconciler.model.world import Fault
from tests.shell.fleet import EXAMPLE, MANIFESTS, decisions, load_world, new_fleet, run_pass
from tests.shell.repositories import Checkout, new_checkout

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
