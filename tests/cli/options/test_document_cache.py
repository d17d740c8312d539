"""Commands keep what they parsed of large repositories, outside of them."""

from pathlib import Path

import pytest

from reconciler.shell.reading.tables import FEW, NAME
from tests.builders import deployment, path_of, policy, text
from tests.shell.fleet import reconciler
from tests.shell.repositories import Checkout, new_checkout

BEFORE, NOW = "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"
BAD = {
    "bad/syntax.yaml": "apiVersion: v1\nkind: [\n",
    "bad/field.yaml": text({**policy("bad"), "sepc": {}}),
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A repository that is just large enough."""
    labels = [{"app": "web"}, {"app": "shop"}]
    workloads = [deployment(f"web-{i}", labels=labels[i % 40 != 0]) for i in range(FEW)]
    bodies = [policy(), *workloads]
    files = {path_of(body): text(body) for body in bodies}
    checkout = new_checkout(tmp_path_factory.mktemp("large") / "repository", files)
    assert 0 == reconciler(checkout.folder, "reconcile", "--now", BEFORE).code
    checkout.commit(BAD)
    return checkout


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("validate",), id="validate"),
        pytest.param(("validate", "--rev", "HEAD", "-o", "json"), id="validate a commit"),
        pytest.param(("get", "deployments", "-A"), id="get"),
        pytest.param(("get", "deploy/web-7", "pp/p", "-o", "yaml"), id="get of names"),
        pytest.param(("get", "-A", "deploy,rb", "-l", "app=web", "-o", "name"), id="get of labels"),
        pytest.param(("get", "deployment", "web-7", "web-x"), id="get of what is not there"),
        pytest.param(("plan", "--base", "HEAD", "--head", "HEAD", "--now", NOW), id="plan"),
        pytest.param(("history", "deployment/web-1"), id="history"),
        pytest.param(("reconcile", "--dry-run", "--now", NOW), id="reconcile"),
    ],
)
@pytest.mark.cpu_seconds(25)  # three commands that read 500 files
def test_answers_are_the_same(
    checkout: Checkout, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Faults included, to the letter: without a folder, with a new one, with a filled one."""
    folder = str(tmp_path / "kept")
    expected = reconciler(checkout.folder, "--cache-dir", "off", *arguments)
    found = [reconciler(checkout.folder, "--cache-dir", folder, *arguments) for _ in range(2)]

    assert [expected, expected] == found
    assert (tmp_path / "kept" / "documents" / NAME).is_file()


def test_a_folder_that_cannot_be_used_is_told(checkout: Checkout, tmp_path: Path) -> None:
    """The person named it, so silence would mislead; the answer comes all the same."""
    place = tmp_path / "file"
    place.write_text("no folder\n")
    finished = reconciler(checkout.folder, "--cache-dir", str(place), "get", "pp")

    told = f"--cache-dir {place} is not used, so manifests are parsed each time: "
    assert (0, told) == (finished.code, finished.stderr[: len(told)])
