"""A forge on the loopback: its branches, files and requests in the shapes of three forges."""

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "a-token-of-the-forge"  # noqa: S105  # of tests only
ACCOUNT = "fleet-bot"
OURS = 42  # id of the repository
PAGE_SIZE = 30


@dataclass
class FakeForge:
    """A forge that keeps branches, files and requests, by the words of one of three."""

    url: str = ""
    failures: int = 0
    tokens: set[str] = field(default_factory=set)
    files: dict[str, bytes] = field(default_factory=dict)
    requests: dict[int, dict[str, Any]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    answers: dict[str, object] = field(default_factory=dict)
    tells_account: bool = True
    limits: list[dict[str, str]] = field(default_factory=list)
    token: str = TOKEN
    statuses: list[str] = field(default_factory=list)

    @property
    def status_of_limit(self) -> int:
        """With which status limits are told."""
        return 429 if "RateLimit-Reset" in self.limits[0] else 403

    @property
    def open(self) -> list[dict[str, Any]]:
        """The requests that are open."""
        return [one for one in self.requests.values() if one["state"] == "open"]

    def answer(  # noqa: C901, PLR0912  # a row a request
        self, method: str, path: str, body: dict[str, Any]
    ) -> tuple[int, object]:
        """Return status and body."""
        if self.failures:
            self.failures -= 1
            return 503, {}
        if self.limits:
            return self.status_of_limit, {"message": "API rate limit exceeded"}
        tail = re.sub(r"^/api/v\d/((repos/team/fleet|projects/team%2Ffleet)/)?", "", path)
        tail, _, query = tail.partition("?")
        page = int(re.findall(r"(?:^|&)page=(\d+)", query)[0]) if "page=" in query else 1
        self.calls.append(f"{method} {tail}")
        if method == "GET" and tail in self.answers:
            return 200, self.answers.pop(tail)
        closed = "state=closed" in query
        shown = [(n, one) for n, one in self.requests.items() if (one["state"] != "open") == closed]
        shown = shown[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        match method, tail.split("/"):
            case "GET", ["user"]:
                user = {"id": 7, "login": ACCOUNT, "username": ACCOUNT}
                return (200, user) if self.tells_account else (403, {"message": "no"})
            case "GET", ["pulls"]:
                return 200, [pull(n, one) for n, one in shown]
            case "GET", ["merge_requests"]:
                return 200, [merge_request(n, one) for n, one in shown]
            case (("PUT" | "POST"), ["contents", *_]):
                branch = body.get("new_branch", body["branch"])
                self.files[branch] = base64.b64decode(body["content"])
                return 201, {}
            case "POST", ["repository", "commits"]:
                self.files[body["branch"]] = base64.b64decode(body["actions"][0]["content"])
                return 201, {}
            case "POST", ["pulls"]:
                return self._add(body["head"], body["base"], body["title"], body["body"])
            case "POST", ["merge_requests"]:
                named = (body["source_branch"], body["target_branch"])
                return self._add(*named, body["title"], body["description"])
            case (("PATCH" | "PUT"), [("pulls" | "merge_requests"), number]):
                self.requests[int(number)] |= {"state": "closed", "title": body["title"]}
                return 200, {}
            case "DELETE", _:
                return 204, None
            case "POST", ["git", "refs"] | ["statuses", _]:
                self.statuses += [body["state"]] if "state" in body else []
                return 201, {}
        return 404, {}

    def strange(self, head: str, *, author: str = "mallory", repository: int | None = 99) -> None:
        """Add the request of somebody else, from a fork unless the repository is ours."""
        self.requests[len(self.requests) + 1] = {
            "head": head,
            "base": "main",
            "title": "x",
            "body": "",
            "state": "open",
            "author": author,
            "repository": repository,
        }

    def _add(self, head: str, base: str, title: str, said: str) -> tuple[int, object]:
        if any(one["head"] == head and one["repository"] == OURS for one in self.open):
            return 422, {"message": "Validation Failed"}
        request = {"head": head, "base": base, "title": title, "body": said, "state": "open"}
        number = len(self.requests) + 1
        self.requests[number] = {**request, "author": ACCOUNT, "repository": OURS}
        return 201, pull(number, self.requests[number])


def pull(number: int, request: dict[str, Any]) -> dict[str, Any]:
    """Return a pull request in the shape of GitHub and Gitea, by the fields that they share."""
    repository = request["repository"]
    author = {"login": request["author"], "id": 1, "type": "User"}
    names = {OURS: "team/fleet"}
    source = None
    if repository is not None:
        name = names.get(repository, f"{request['author']}/fleet")
        source = {"id": repository, "name": "fleet", "full_name": name, "private": False}
    return {
        "id": 1000 + number,
        "number": number,
        "state": request["state"],
        "title": request["title"],
        "body": request["body"],
        "user": author,
        "draft": False,
        "merged_at": None,
        "head": {
            "label": f"{request['author']}:{request['head']}",
            "ref": request["head"],
            "sha": "b" * 40,
            "user": author,
            "repo": source,
        },
        "base": {
            "label": f"team:{request['base']}",
            "ref": request["base"],
            "sha": "a" * 40,
            "repo": {"id": OURS, "name": "fleet", "full_name": "team/fleet", "private": False},
        },
    }


def merge_request(number: int, request: dict[str, Any]) -> dict[str, Any]:
    """Return a merge request in the shape of GitLab."""
    return {
        "id": 1000 + number,
        "iid": number,
        "project_id": OURS,
        "title": request["title"],
        "description": request["body"],
        "state": {"open": "opened"}.get(request["state"], request["state"]),
        "merged_at": None,
        "source_branch": request["head"],
        "target_branch": request["base"],
        "source_project_id": request["repository"],
        "target_project_id": OURS,
        "author": {"id": 1, "username": request["author"], "name": "x", "state": "active"},
    }


@contextmanager
def forge_server() -> Iterator[FakeForge]:
    """Serve a forge on the loopback."""
    forge = FakeForge()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            given = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or ""
            token = given.rpartition(" ")[2]
            forge.tokens.add(token)
            limits = forge.limits[:1]
            status: int = 401
            found: object = {}
            if token == forge.token:
                status, found = forge.answer(self.command, self.path, body)
            data = b"" if found is None else json.dumps(found).encode()
            self.send_response(status)
            if status in (403, 429) and limits:
                forge.limits.pop(0)
                for name, value in limits[0].items():
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815  # names of http

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        forge.url = f"http://127.0.0.1:{http.server_port}/team/fleet"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield forge
        finally:
            http.shutdown()
            thread.join()
