"""What people see who edit manifests: asked of the language server that editors have inside."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from tests.pages.run import new_reader
from tests.shell.fleet import EXAMPLE, MANIFESTS, ROOT
from tests.shell.repositories import NOW

SERVER = ROOT / ".venv/editors/node_modules/yaml-language-server/bin/yaml-language-server"


@dataclass
class LanguageServer:
    """A server with a workspace; documents are opened and asked about."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    settings: Mapping[str, object]
    asked: int = 0
    diagnostics: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def underlined(self, path: str, text: str) -> list[tuple[str, str]]:
        """Return what is underlined in a document, and what is said of it."""
        uri = self._open(path, text)
        while uri not in self.diagnostics:
            self._take(self._read())
        lines = text.splitlines()
        return [
            (_within(lines, found["range"]), found["message"]) for found in self.diagnostics[uri]
        ]

    def offered(self, path: str, text: str) -> list[str]:
        """Return the labels that completion offers where a document has a `|`."""
        line, column = _cursor(text)
        uri = self._open(path, text.replace("|", "", 1))
        at = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}}
        return [item["label"] for item in self.ask("textDocument/completion", at)["items"]]

    def hovered(self, path: str, text: str) -> str:
        """Return what is shown where a document has a `|`."""
        line, column = _cursor(text)
        uri = self._open(path, text.replace("|", "", 1))
        at = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}}
        found = self.ask("textDocument/hover", at)
        return str(found["contents"]["value"])

    def ask(self, method: str, parameters: Mapping[str, object]) -> Any:
        """Return the answer to a request."""
        self.asked += 1
        self._send({"id": self.asked, "method": method, "params": parameters})
        while True:
            found = self._read()
            if found.get("id") == self.asked and "method" not in found:
                assert "error" not in found, found["error"]
                return found["result"]
            self._take(found)

    def tell(self, method: str, parameters: Mapping[str, object]) -> None:
        """Send what has no answer."""
        self._send({"method": method, "params": parameters})

    def _open(self, path: str, text: str) -> str:
        uri = (self.folder / path).as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return uri

    def _take(self, message: Mapping[str, Any]) -> None:
        """Keep diagnostics; answer what the server asks: for settings, and else with nothing."""
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:
            items = message["params"]["items"] if "configuration" in message["method"] else None
            result = items and [self.settings.get(item["section"]) for item in items]
            self._send({"id": message["id"], "result": result})

    def _send(self, message: Mapping[str, object]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the language server ended"
        found: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return found


def _cursor(text: str) -> tuple[int, int]:
    """Return line and column of the `|`, from 0."""
    before = text[: text.index("|")]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def _within(lines: list[str], place: Mapping[str, Any]) -> str:
    """Return the text of a range in one line."""
    start, end = place["start"], place["end"]
    return lines[int(start["line"])][start["character"] : end["character"]]


@contextmanager
def serving(folder: Path, settings: Mapping[str, object]) -> Iterator[LanguageServer]:
    """Run the server on a workspace with the settings of an editor."""
    process = subprocess.Popen(
        ["node", str(SERVER), "--stdio"],
        env={**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    server = LanguageServer(process, folder, settings)
    try:
        server.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": folder.as_uri(),
                "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
                "capabilities": {"workspace": {"configuration": True}},
            },
        )
        server.tell("initialized", {})
        server.tell("workspace/didChangeConfiguration", {"settings": settings})
        yield server
    finally:
        process.kill()
        process.communicate()


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
