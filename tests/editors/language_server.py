"""A client of yaml-language-server, the one that VS Code's YAML extension and others have inside.

`make editors` installs it below `.venv/editors`.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.shell.fleet import ROOT

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
