"""docs/adopt.md: every command on it prints what it shows, with a kubectl that knows three hubs."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.model.body import Body
from tests.imports.hubs import live
from tests.imports.karmada_hub import karmada_hub
from tests.imports.kubefleet_hub import kubefleet_hub
from tests.imports.ocm_hub import ocm_hub
from tests.imports.switches import deployment
from tests.pages.run import new_reader
from tests.shell.fleet import ROOT
from tests.shell.kubectl_stand_in import stand_in

START = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
NODE = live("v1", "Node", "n1", status={"allocatable": {"cpu": "16", "pods": "110"}})
HUBS: Mapping[str, list[Body]] = {
    "karmada-hub": karmada_hub(2),
    "ocm-hub": ocm_hub(2),
    "fleet-hub": kubefleet_hub(2),
    "host": [
        deployment("karmada-system/karmada-controller-manager", 2),
        deployment("karmada-system/karmada-scheduler", 2),
    ],
    "member1": [NODE],
}


@pytest.mark.cpu_seconds(120)
def test_the_page_shows_what_commands_print(tmp_path: Path) -> None:
    """From its first line to its last."""
    reader = new_reader(tmp_path, START)
    for context, bodies in HUBS.items():
        stand_in(reader.tools, bodies, context=context)
    page = (ROOT / "docs/adopt.md").read_text(encoding="utf-8")

    assert "" == "\n".join(reader.follow(page))
