"""Pull requests in the words of each forge: how one with one file is opened, found and closed.

Source: GitHub, `git/create-ref`, `repos/create-or-update-file-contents`, `pulls/*` of its OpenAPI;
GitLab, its Commits, Branches and Merge requests APIs; Gitea, `repoCreateFile`, `repoUpdateFile`,
`repoCreatePullRequest`, `repoEditPullRequest`, `repoDeleteBranch` of its swagger.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx

from reconciler.errors import ShellError
from reconciler.shell.forges import Forge

MOST_OPEN = 50
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

    def open_branches(self, prefix: str) -> dict[str, int]:
        """Return the branches of open requests whose names begin so, with the request's number."""
        match self.forge.kind:
            case "gitlab":
                found = self._ask("GET", f"merge_requests?state=opened&per_page={MOST_OPEN}")
                pairs = ((one["source_branch"], one["iid"]) for one in found)
            case _:
                found = self._ask("GET", f"pulls?state=open&per_page={MOST_OPEN}&limit={MOST_OPEN}")
                pairs = ((one["head"]["ref"], one["number"]) for one in found)
        return {str(name): int(number) for name, number in pairs if str(name).startswith(prefix)}

    def open(self, proposal: Proposal) -> None:
        """Open one; what is there from an attempt that was cut off is gone on with."""
        for method, path, body in STEPS[self.forge.kind](proposal):
            self._ask(method, path, body, accept=ALREADY)

    def close(self, branch: str, number: int) -> None:
        """Close one, and delete its branch."""
        match self.forge.kind:
            case "gitlab":
                self._ask("PUT", f"merge_requests/{number}", {"state_event": "close"})
                self._ask("DELETE", f"repository/branches/{quote(branch, safe='')}", accept={404})
            case "gitea":
                self._ask("PATCH", f"pulls/{number}", {"state": "closed"})
                self._ask("DELETE", f"branches/{quote(branch, safe='')}", accept={404})
            case _:
                self._ask("PATCH", f"pulls/{number}", {"state": "closed"})
                self._ask("DELETE", f"git/refs/heads/{branch}", accept=ALREADY | {404})

    def _ask(
        self,
        method: str,
        path: str,
        body: dict[str, object] | None = None,
        *,
        accept: frozenset[int] | set[int] = frozenset(),
    ) -> Any:
        """Ask the forge, and return what it answers.

        Raises:
            ShellError: It cannot be reached, or refuses.
        """
        url = f"{self.forge.project}/{path}"
        try:
            response = self.client.request(method, url, headers=dict(self.forge.headers), json=body)
        except (httpx.HTTPError, OSError) as error:
            raise ShellError(f"{type(error).__name__}: {error}") from error
        if not response.is_success and response.status_code not in accept:
            raise ShellError(f"{method} {path} answered {response.status_code}")
        if not response.is_success or not response.content:
            return []
        try:
            return response.json()
        except ValueError as error:
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
