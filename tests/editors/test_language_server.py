"""What people see who edit manifests: asked of the language server that editors have inside."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.editors.language_server import SERVER, LanguageServer, serving
from tests.pages.run import new_reader
from tests.shell.fleet import EXAMPLE, MANIFESTS, ROOT
from tests.shell.repositories import NOW

pytestmark = [
    pytest.mark.skipif(
        not SERVER.exists(), reason="yaml-language-server is not here: make editors"
    ),
    pytest.mark.cpu_seconds(60),
]

POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: shop
spec:
  resourceSelectors:
  - apiVersion: apps/v1
    kind: Deployment
  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
"""


def written(folder: Path, *arguments: str) -> Path:
    """Write the schemas into a folder."""
    assert 0 == run(["schema", "--write", str(folder / "schemas"), *arguments])
    return folder / "schemas"


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanguageServer]:
    """An editor that is set up as docs/editors.md says."""
    reader = new_reader(tmp_path_factory.mktemp("editor"), NOW)
    assert [] == reader.follow((ROOT / "docs/editors.md").read_text())
    settings = json.loads((reader.folder / ".vscode/settings.json").read_text())
    schemas = {"schemas": settings["yaml.schemas"], "schemaStore": {"enable": False}}
    yaml = {"validate": True, "completion": True, "hover": True, **schemas}
    with serving(reader.folder, {"yaml": yaml}) as server:
        yield server


@pytest.mark.parametrize("path", MANIFESTS)
def test_nothing_is_underlined_in_the_example(editor: LanguageServer, path: str) -> None:
    """Of all three APIs, and workloads."""
    assert [] == editor.underlined(path, EXAMPLE[path])


def test_a_wrong_field_is_underlined(editor: LanguageServer) -> None:
    """The name itself, and it is said that there is none."""
    text = POLICY.replace("replicaSchedulingType", "replicaSchedulingTyp")

    assert [
        ("replicaSchedulingTyp", "Property replicaSchedulingTyp is not allowed.")
    ] == editor.underlined("policies/field.yaml", text)


def test_a_wrong_value_is_underlined(editor: LanguageServer) -> None:
    """With those that are right."""
    text = POLICY.replace("Divided", "Divide")

    assert [
        ("Divide", 'Value is not accepted. Valid values: "Duplicated", "Divided".')
    ] == editor.underlined("policies/value.yaml", text)


def test_completion_offers_the_enum(editor: LanguageServer) -> None:
    """Behind the key."""
    text = POLICY.replace("Divided", "|")

    assert ["Divided", "Duplicated"] == sorted(editor.offered("policies/enum.yaml", text))


def test_completion_offers_the_fields_that_are_left(editor: LanguageServer) -> None:
    """Of the kind that the document says it is."""
    offered = editor.offered("policies/fields.yaml", f"{POLICY}  |\n")

    assert {"failover", "priority"} <= set(offered)
    assert "placement" not in offered


def test_completion_offers_the_kinds(editor: LanguageServer) -> None:
    """Before anything else is written."""
    offered = editor.offered("policies/kind.yaml", "kind: |\n")

    assert {"Cluster", "Placement", "WorkloadRebalancer"} <= set(offered)


def test_the_description_of_a_field_is_shown(editor: LanguageServer) -> None:
    """Where the pointer rests."""
    text = POLICY.replace("replicaSchedulingType", "replica|SchedulingType")
    shown = editor.hovered("policies/hover.yaml", text)

    assert "Each cluster runs all replicas, or all clusters together do." in shown


def test_a_line_in_a_file_names_its_schema(tmp_path: Path) -> None:
    """No settings are needed."""
    schema = written(tmp_path) / "policy.karmada.io/propagationpolicy_v1alpha1.json"
    text = f"# yaml-language-server: $schema={schema}\n{POLICY.replace('Divided', '|')}"

    with serving(tmp_path, {"yaml": {"completion": True}}) as server:
        assert ["Divided", "Duplicated"] == sorted(server.offered("a.yaml", text))


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder, and yield its address."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    handler.func.log_message = lambda *_: None  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_catalog_finds_the_schema_by_the_folder(tmp_path: Path) -> None:
    """In the format of schemastore.org; it is one setting for all of a team."""
    (tmp_path / "schemas").mkdir()
    with served(tmp_path / "schemas") as url:
        written(tmp_path, "--url", url)
        store = {"schemaStore": {"enable": True, "url": f"{url}catalog.json"}}
        with serving(tmp_path, {"yaml": {"validate": True, **store}}) as server:
            text = POLICY.replace("Divided", "Divide")
            found = server.underlined("policies/shop.yaml", text)
            elsewhere = server.underlined("notes/shop.yaml", text)

    assert ["Divide"] == [place for place, _ in found]
    assert [] == elsewhere
