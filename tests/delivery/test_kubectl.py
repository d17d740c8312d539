"""Each delivered folder is one that a real kubectl builds, as docs/delivery.md shows."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest
from ruamel.yaml import YAML

from reconciler.cli.main import run
from reconciler.delivery.settings import DEFAULT_PATHS
from reconciler.delivery.transports import TRANSPORTS
from tests.builders import Body, configuration, text
from tests.delivery.kubectl import kubectl
from tests.shell.fleet import ROOT, decided_fleet, new_fleet, run_pass
from tests.shell.repositories import Checkout

FOLDERS = (
    "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\nmetadata: {name: e}\n"
)
FOLDERS += "spec: {delivery: {folders: {}}}\n"
ODD = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  annotations:
    note: "yes"
    line: |
      two
      lines
data:
  "on": "off"
  octal: "010"
  time: "12:30:45"
  empty: ""
  tilde: "~"
  number: "1e3"
  dash: "- a"
  hash: "a # b"
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The example repository with delivery, after a pass; tests only read it."""
    files = {"reconciler.yaml": FOLDERS, "workloads/settings.yaml": ODD}
    return decided_fleet(tmp_path_factory.mktemp("kubectl") / "fleet", files)


def folders(fleet: Checkout) -> list[Path]:
    """The folders of the clusters."""
    return sorted((fleet.folder / "delivery").iterdir())


def objects(text: str) -> Iterator[tuple[str, Body]]:
    """Objects of a stream of documents, by kind, namespace and name."""
    for body in YAML(typ="safe").load_all(text):
        metadata = cast(Mapping[str, str], body["metadata"])
        yield f"{body['kind']} {metadata.get('namespace', '')}/{metadata['name']}", body


def built(folder: Path) -> dict[str, Body]:
    """What kustomize makes of a folder."""
    finished = subprocess.run(
        [kubectl(), "kustomize", folder], check=True, capture_output=True, text=True
    )
    return dict(objects(finished.stdout))


def test_every_folder_is_built_into_what_its_files_say(fleet: Checkout) -> None:
    """No object is lost or read otherwise, odd texts included."""
    everything: dict[str, Body] = {}
    for folder in folders(fleet):
        files = [path for path in folder.rglob("*.yaml") if path.name != "kustomization.yaml"]
        written = dict(found for path in files for found in objects(path.read_text()))
        everything |= written

        assert written == built(folder)
    assert everything


def test_odd_texts_stay_texts(fleet: Checkout) -> None:
    """What YAML 1.1 would read as something else."""
    settings = built(fleet.folder / "delivery" / "member1")["ConfigMap default/settings"]

    assert {"on": "off", "octal": "010", "time": "12:30:45", "number": "1e3"}.items() <= cast(
        Body, settings["data"]
    ).items()


def test_the_folder_of_a_cluster_with_nothing_is_built(tmp_path: Path) -> None:
    """Into nothing: so what was there before is pruned."""
    fleet = new_fleet(tmp_path / "fleet", {"reconciler.yaml": FOLDERS})
    fleet.git("rm", "-q", "-r", "workloads", "policies", "placements")
    fleet.commit({}, "Empty")
    run_pass(fleet.folder, 0)

    assert [{}, {}, {}] == [built(folder) for folder in folders(fleet)][:3]


PAGE = (ROOT / "docs" / "delivery.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| `([^`]+)` \|", re.MULTILINE)


def block(name: str) -> str:
    """The YAML behind a mark."""
    found = re.search(rf"<!-- {name} -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_configuration_is_valid(tmp_path: Path) -> None:
    """And each of its defaults is the default."""
    (tmp_path / "reconciler.yaml").write_text(block("configuration"))

    assert 0 == run(["-C", str(tmp_path), "validate"])


def test_works_are_delivered_as_the_page_switches_them_on(tmp_path: Path) -> None:
    """Without what promises that no controller undoes them it is not valid."""
    page = block("works")
    (tmp_path / "reconciler.yaml").write_text(page)
    assert 0 == run(["-C", str(tmp_path), "validate"])

    lines = page.splitlines(keepends=True)
    rest = [line for line in lines if "hubsWithoutControllers" not in line]
    (tmp_path / "reconciler.yaml").write_text("".join(rest))
    assert len(lines) == len(rest) + 1
    assert 0 != run(["-C", str(tmp_path), "validate"])


def test_the_table_lists_every_transport_with_its_path() -> None:
    """The defaults are those of the code."""
    assert TRANSPORTS.keys() == DEFAULT_PATHS.keys()
    assert dict(ROW.findall(PAGE)) == dict(DEFAULT_PATHS)


def test_flux_and_argo_are_pointed_at_folders_that_there_are(tmp_path: Path) -> None:
    """With what the example repository delivers."""
    fleet = decided_fleet(tmp_path / "fleet", {"reconciler.yaml": block("configuration")})
    flux, argo = (YAML(typ="safe").load(block(name)) for name in ("flux", "argo"))
    (directory,) = argo["spec"]["generators"][0]["git"]["directories"]

    assert (fleet.folder / flux["spec"]["path"] / "kustomization.yaml").exists()
    assert {"backup1", "member1", "member2"} <= {
        path.name for path in fleet.folder.glob(directory["path"])
    }


def test_status_tells_where_decisions_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what was switched off and keeps its files."""
    fleet = decided_fleet(tmp_path / "fleet", {"reconciler.yaml": block("configuration")})
    command = ["-C", str(fleet.folder), "status"]

    assert 0 == run(command)
    assert re.search(
        r"^Delivery: +decisions in decisions: \d+ files$", capsys.readouterr().out, re.MULTILINE
    )
    fleet.commit({"reconciler.yaml": text(configuration())}, "Switch off")
    run_pass(fleet.folder, 60)
    assert 0 == run(command)
    assert "files; it is switched off, and its files are kept\n" in capsys.readouterr().out
