"""Each delivered folder is one that a real kubectl builds, and reads as it was meant."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest
from ruamel.yaml import YAML

from tests.builders import Body
from tests.delivery.kubectl import kubectl
from tests.shell.fleet import new_fleet, run_pass
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
    fleet = new_fleet(tmp_path_factory.mktemp("kubectl") / "fleet", files)
    run_pass(fleet.folder, 0)
    return fleet


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
