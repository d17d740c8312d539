"""docs/delivery.md: what it shows is valid, and what it promises of paths is so."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reconciler.cli.main import run
from reconciler.delivery.settings import DEFAULT_PATHS
from reconciler.delivery.transports import TRANSPORTS
from tests.builders import configuration, text
from tests.shell.fleet import ROOT, new_fleet, run_pass

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
    fleet = new_fleet(tmp_path / "fleet", {"reconciler.yaml": block("configuration")})
    run_pass(fleet.folder, 0)
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
    fleet = new_fleet(tmp_path / "fleet", {"reconciler.yaml": block("configuration")})
    run_pass(fleet.folder, 0)
    command = ["-C", str(fleet.folder), "status"]

    assert 0 == run(command)
    assert re.search(
        r"^Delivery: +decisions in decisions: \d+ files$", capsys.readouterr().out, re.MULTILINE
    )
    fleet.commit({"reconciler.yaml": text(configuration())}, "Switch off")
    run_pass(fleet.folder, 60)
    assert 0 == run(command)
    assert "files; it is switched off, and its files are kept\n" in capsys.readouterr().out
