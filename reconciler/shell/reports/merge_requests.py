"""Pull requests in the words of each forge: how one with one file is opened, found and closed.

Whose a request is, is said by its repository and its author; anybody may name a branch of a fork.

Source: GitHub, `git/create-ref`, `repos/create-or-update-file-contents`, `pulls/*` of its OpenAPI;
GitLab, its Commits, Branches and Merge requests APIs; Gitea, `repoCreateFile`, `repoUpdateFile`,
`repoCreatePullRequest`, `repoEditPullRequest`, `repoDeleteBranch` of its swagger.
"""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, cast
from urllib.parse import quote

import httpx

from reconciler.errors import ShellError
from reconciler.shell.reports.forges import Forge
from reconciler.shell.reports.open_requests import MergeRequest, account_of, requests_of
from reconciler.shell.reports.outbox import READ_BYTES, asked_wait, unreachable

MOST_PAGES = 40
FEW_PAGES = 4  # of requests that are closed
MOST_BYTES = 32 * 1024 * 1024
LISTINGS = {
    "github": "pulls?state=open&per_page=100&page={}",
    "gitlab": "merge_requests?state=opened&per_page=100&page={}",
    "gitea": "pulls?state=open&limit=50&page={}",
}
CLOSED = {
    "github": "pulls?state=closed&head={owner}:{branch}&per_page=100&page={}",
    "gitlab": "merge_requests?state=closed&source_branch={branch}&per_page=100&page={}",
    "gitea": "pulls?state=closed&sort=recentupdate&limit=50&page={}",
}
"""Gitea cannot be asked for a branch, so only those that were closed of late are looked at."""
OUT_OF_DATE = "Out of date: "
"""How the title of a request begins that was closed here, and not by a person."""
UNTOLD = frozenset({401, 403, 404})
ALREADY = frozenset({409, 422})  # the branch or the request is there, from an earlier attempt


class ForgeLimit(ShellError):
    """A limit of the forge is reached; it is asked again after so many seconds."""

    def __init__(self, message: str, after_seconds: float) -> None:
        self.after_seconds = after_seconds
        super().__init__(message)


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

    def open_requests(self, prefix: str) -> tuple[MergeRequest, ...]:
        """Return the open requests from branches whose names begin so, of this account or not.

        Raises:
            ShellError: The forge cannot be reached, refuses, or answers in another shape.
        """
        found = self._listed(LISTINGS[self.forge.kind].format, MOST_PAGES)
        return tuple(one for one in found if one.branch.startswith(prefix))

    def is_closed_by_people(self, branch: str) -> bool:
        """Return whether somebody closed our request from a branch, and did not merge it.

        Raises:
            ShellError: The forge cannot be reached, refuses, or answers in another shape.
        """
        owner = self.forge.project.rpartition("/")[0].rpartition("/")[2]
        listing = partial(
            CLOSED[self.forge.kind].format, owner=owner, branch=quote(branch, safe="")
        )
        return any(
            one.branch == branch
            and one.is_ours
            and not one.is_merged
            and not one.title.startswith(OUT_OF_DATE)
            for one in self._listed(listing, FEW_PAGES)
        )

    def _listed(self, listing: Callable[[int], str], pages: int) -> tuple[MergeRequest, ...]:
        """Return the requests of a list, page by page until there is nothing new."""
        account = self._account()
        found: dict[int, MergeRequest] = {}
        for page in range(1, pages + 1):
            answered = requests_of(self._ask("GET", listing(page)), self.forge.kind, account)
            fresh = [request for request in answered if request.number not in found]
            found |= {request.number: request for request in fresh}
            if not fresh:
                break
        return tuple(found.values())

    def open(self, proposal: Proposal) -> bool:
        """Open one; what is there from an attempt that was cut off is gone on with.

        Returns:
            Whether the forge made a request; `False` if it says that there is one.
        """
        made: object = None
        for method, path, body in STEPS[self.forge.kind](proposal):
            made = self._ask(method, path, body, accept=ALREADY)
        return bool(made)

    def close(self, request: MergeRequest) -> None:
        """Close one that is out of date, say so in its title, and delete its branch."""
        name, number = quote(request.branch, safe=""), request.number
        title = {"title": f"{OUT_OF_DATE}{request.title.removeprefix(OUT_OF_DATE)}"}
        match self.forge.kind:
            case "gitlab":
                self._ask("PUT", f"merge_requests/{number}", {"state_event": "close", **title})
                self._ask("DELETE", f"repository/branches/{name}", accept={404})
            case "gitea":
                self._ask("PATCH", f"pulls/{number}", {"state": "closed", **title})
                self._ask("DELETE", f"branches/{name}", accept={404})
            case _:
                self._ask("PATCH", f"pulls/{number}", {"state": "closed", **title})
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
            ForgeLimit: It asks to be left alone for a while.
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
        said = content[:READ_BYTES].decode(errors="replace")
        wait = asked_wait(response.status_code, response.headers, said, time.time())
        if wait:
            raise ForgeLimit(f"{method} {path} answered {response.status_code}, a limit", wait)
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
