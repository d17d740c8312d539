"""Pull requests in the words of each forge: how one with one file is opened, found and closed.

Whose a request is, is said by its repository and its author; anybody may name a branch of a fork.

Source: GitHub, `git/create-ref`, `repos/create-or-update-file-contents`, `pulls/*` of its OpenAPI;
GitLab, its Commits, Branches and Merge requests APIs; Gitea, `repoCreateFile`, `repoUpdateFile`,
`repoCreatePullRequest`, `repoEditPullRequest`, `repoDeleteBranch` of its swagger.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast
from urllib.parse import quote

import httpx

from reconciler.errors import ShellError
from reconciler.shell.reports.forges import Forge
from reconciler.shell.reports.open_requests import OpenRequest, account_of, requests_of
from reconciler.shell.reports.outbox import unreachable

MOST_PAGES = 40
MOST_BYTES = 32 * 1024 * 1024
LISTINGS = {
    "github": "pulls?state=open&per_page=100&page={}",
    "gitlab": "merge_requests?state=opened&per_page=100&page={}",
    "gitea": "pulls?state=open&limit=50&page={}",
}
UNTOLD = frozenset({401, 403, 404})
ALREADY = frozenset({409, 422})  # the branch or the request is there, from an earlier attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change of one file that a person is asked to merge.

    Attributes:
        branch: That is made for it.
        base: The branch that it is merged into.
        revision: Full hex id of the commit that it starts from.
        path: Of the file, from the top of the repository.
        content: What the file is to hold.
        blob: Full hex id of the blob that it holds now, `None` if it is not there.
        title: Of commit and request.
        text: Of the request, Markdown.
    """

    branch: str
    base: str
    revision: str
    path: str
    content: bytes
    blob: str | None
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class MergeRequests:
    """The open pull requests of one repository."""

    client: httpx.Client
    forge: Forge

    def open_requests(self, prefix: str) -> tuple[OpenRequest, ...]:
        """Return the open requests from branches whose names begin so, of this account or not.

        Raises:
            ShellError: The forge cannot be reached, refuses, or answers in another shape.
        """
        account = self._account()
        listing = LISTINGS[self.forge.kind]
        found: dict[int, OpenRequest] = {}
        for page in range(1, MOST_PAGES + 1):
            answered = requests_of(self._ask("GET", listing.format(page)), self.forge.kind, account)
            fresh = [request for request in answered if request.number not in found]
            found |= {request.number: request for request in fresh}
            if not fresh:
                break
        return tuple(one for one in found.values() if one.branch.startswith(prefix))

    def open(self, proposal: Proposal) -> bool:
        """Open one; what is there from an attempt that was cut off is gone on with.

        Returns:
            Whether the forge made a request; `False` if it says that there is one.
        """
        made: object = None
        for method, path, body in STEPS[self.forge.kind](proposal):
            made = self._ask(method, path, body, accept=ALREADY)
        return bool(made)

    def close(self, branch: str, number: int) -> None:
        """Close one, and delete its branch."""
        name = quote(branch, safe="")
        match self.forge.kind:
            case "gitlab":
                self._ask("PUT", f"merge_requests/{number}", {"state_event": "close"})
                self._ask("DELETE", f"repository/branches/{name}", accept={404})
            case "gitea":
                self._ask("PATCH", f"pulls/{number}", {"state": "closed"})
                self._ask("DELETE", f"branches/{name}", accept={404})
            case _:
                self._ask("PATCH", f"pulls/{number}", {"state": "closed"})
                self._ask("DELETE", f"git/refs/heads/{name}", accept=ALREADY | {404})

    def _account(self) -> str:
        """Return whose token it is, `""` where the forge does not tell, as for GitHub's Apps."""
        url = f"{self.forge.api}/user"
        answered = self._ask("GET", url=url, path="user", accept=UNTOLD)
        return account_of(answered, self.forge.kind) if answered != [] else ""

    def _ask(
        self,
        method: str,
        path: str,
        body: dict[str, object] | None = None,
        *,
        accept: frozenset[int] | set[int] = frozenset(),
        url: str = "",
    ) -> object:
        """Ask the forge, and return what it answers; `[]` where that is empty or accepted only.

        Raises:
            ShellError: It cannot be reached, refuses, or answers what is no JSON.
        """
        address = url or f"{self.forge.project}/{path}"
        headers = dict(self.forge.headers)
        try:
            with self.client.stream(method, address, headers=headers, json=body) as response:
                content = b""
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) > MOST_BYTES:
                        raise ShellError(f"{method} {path} answered more than {MOST_BYTES} bytes")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise ShellError(f"{method} {path}: {unreachable(error)}") from error
        if not response.is_success and response.status_code not in accept:
            raise ShellError(f"{method} {path} answered {response.status_code}")
        if not response.is_success or not content:
            return []
        try:
            return cast("object", json.loads(content))
        except (ValueError, RecursionError) as error:
            raise ShellError(f"{method} {path} answered no JSON") from error


Request: TypeAlias = tuple[str, str, dict[str, object]]  # method, path below the project, body


def _github_steps(one: Proposal) -> Iterator[Request]:
    yield "POST", "git/refs", {"ref": f"refs/heads/{one.branch}", "sha": one.revision}
    yield "PUT", f"contents/{quote(one.path)}", {"branch": one.branch, **_file(one)}
    yield "POST", "pulls", _pull(one)


def _gitea_steps(one: Proposal) -> Iterator[Request]:
    method = "POST" if one.blob is None else "PUT"
    branches = {"branch": one.base, "new_branch": one.branch}
    yield method, f"contents/{quote(one.path)}", {**branches, **_file(one)}
    yield "POST", "pulls", _pull(one)


def _gitlab_steps(one: Proposal) -> Iterator[Request]:
    change = {
        "action": "create" if one.blob is None else "update",
        "file_path": one.path,
        "encoding": "base64",
        "content": _encoded(one),
    }
    commit: dict[str, object] = {
        "branch": one.branch,
        "start_sha": one.revision,
        "commit_message": one.title,
        "actions": [change],
    }
    request: dict[str, object] = {
        "source_branch": one.branch,
        "target_branch": one.base,
        "title": one.title,
        "description": one.text,
        "remove_source_branch": True,
    }
    yield "POST", "repository/commits", commit
    yield "POST", "merge_requests", request


STEPS: Mapping[str, Callable[[Proposal], Iterator[Request]]] = {
    "github": _github_steps,
    "gitlab": _gitlab_steps,
    "gitea": _gitea_steps,
}


def _file(one: Proposal) -> dict[str, object]:
    """Return the fields of a written file that GitHub and Gitea share."""
    known = {} if one.blob is None else {"sha": one.blob}
    return {"message": one.title, "content": _encoded(one), **known}


def _pull(one: Proposal) -> dict[str, object]:
    """Return the fields of a pull request that GitHub and Gitea share."""
    return {"title": one.title, "head": one.branch, "base": one.base, "body": one.text}


def _encoded(one: Proposal) -> str:
    return base64.b64encode(one.content).decode()
