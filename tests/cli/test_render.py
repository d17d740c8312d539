"""`reconciler render`, `plan --manifests` and files written for a person, on real histories."""

import json
from pathlib import Path

import pytest

from reconciler.cli.delivery import Delivery
from reconciler.shell.git.repository import Repository
from tests.cli.history import answer, told_fleet
from tests.shell.fleet import EXAMPLE, new_fleet
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
BROKEN = """\
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata:
  name: broken
  namespace: default
spec:
  overrideRules:
  - overriders:
      plaintext:
      - path: /no/such
        operator: remove
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes; tests only read it."""
    return told_fleet(tmp_path_factory.mktemp("render") / "fleet")


def test_each_cluster_has_its_manifest_with_its_replicas(fleet: Checkout, capsys: Capsys) -> None:
    """As YAML documents, under the name of the cluster."""
    code, out, err = answer(fleet, capsys, "render", "deployment/shop")

    assert (0, "") == (code, err)
    assert out.startswith("# backup1\napiVersion: apps/v1\nkind: Deployment\n")
    assert "\n  replicas: 5\n" in out


def test_one_cluster_can_be_asked_about(fleet: Checkout, capsys: Capsys) -> None:
    """Alone; what is on another cluster is not told."""
    code, out, _ = answer(fleet, capsys, "render", "configmap/settings", "member2")

    assert (0, ["# member2"]) == (code, [line for line in out.splitlines() if line[:1] == "#"])


def test_a_list_is_what_kubectl_reads(fleet: Checkout, capsys: Capsys) -> None:
    """All manifests as the items of a List."""
    code, out, _ = answer(fleet, capsys, "render", "deployment/shop", "-o", "json")
    listed = json.loads(out)

    assert (0, "List", ["Deployment"]) == (
        code,
        listed["kind"],
        [item["kind"] for item in listed["items"]],
    )


def test_carriers_are_the_works_of_the_api(fleet: Checkout, capsys: Capsys) -> None:
    """With the manifests in them."""
    code, out, _ = answer(fleet, capsys, "render", "deployment/shop", "--carriers")

    assert 0 == code
    assert "\nkind: Work\nmetadata:\n  name: shop-" in out
    assert "\n  namespace: karmada-es-backup1\n" in out
    assert "\n    manifests:\n    - apiVersion: apps/v1\n" in out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        pytest.param(["deployment/nope"], 2, "there is no deployment/nope", id="no-object"),
        pytest.param(["deployment/shop", "nowhere"], 2, "is not on nowhere", id="no-cluster"),
        pytest.param(["pp/shop"], 2, "a PropagationPolicy is not placed", id="not-placed"),
    ],
)
def test_what_cannot_be_rendered_is_said(
    fleet: Checkout, capsys: Capsys, words: list[str], code: int, told: str
) -> None:
    """In one sentence, nothing on standard output."""
    found, out, err = answer(fleet, capsys, "render", *words)

    assert (code, "", True) == (found, out, told in err)


def test_an_override_that_fails_is_told_beside_the_clusters(tmp_path: Path, capsys: Capsys) -> None:
    """Exit code 1: a cluster gets nothing new."""
    fleet = told_fleet(tmp_path / "fleet")
    fleet.commit({"policies/broken.yaml": BROKEN}, "Break")
    code, out, err = answer(fleet, capsys, "render", "deployment/shop")

    assert (1, "") == (code, out)
    assert "backup1: OverridePolicy broken: patch: remove of `/no/such` does not apply" in err


def test_a_plan_shows_what_changes_on_each_cluster(tmp_path: Path, capsys: Capsys) -> None:
    """As a diff of the manifests that delivery would write."""
    fleet = told_fleet(tmp_path / "fleet")
    scaled = EXAMPLE["workloads/frontend.yaml"].replace("replicas: 6", "replicas: 9")
    fleet.write({"workloads/frontend.yaml": scaled})
    _, out, _ = answer(
        fleet,
        capsys,
        "plan",
        "--base",
        "HEAD",
        "--worktree",
        "--manifests",
        "--now",
        "2026-11-20T13:00:00Z",
    )
    diff = out.partition("\nmanifests: ")[2]

    assert "--- member2: Deployment.apps default/frontend" in diff
    assert "-  replicas: 6\n+  replicas: 9\n" in diff


def test_manifests_of_a_plan_are_text(fleet: Checkout, capsys: Capsys) -> None:
    """Another output would leave them out in silence."""
    code, _, err = answer(
        fleet, capsys, "plan", "--base", "HEAD", "--worktree", "--manifests", "-o", "json"
    )

    assert (2, True) == (code, "--manifests supports only text" in err)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(1, "0.yaml is written, not committed; it takes effect", id="one"),
        pytest.param(3, "0.yaml, 1.yaml, 2.yaml are written, not committed; they take", id="few"),
        pytest.param(4, "4 files are written, not committed; they take", id="many"),
    ],
)
def test_files_are_and_a_file_is_written(tmp_path: Path, count: int, expected: str) -> None:
    """A few by name, many by number."""
    fleet = new_fleet(tmp_path / "fleet")
    delivery = Delivery(
        directory=fleet.folder,
        repository=Repository.open(fleet.folder),
        base="",
        branch=None,
        author=None,
    )

    said = delivery.deliver({f"{number}.yaml": b"a: 1\n" for number in range(count)}, "Add files")

    assert expected == said[: len(expected)]
