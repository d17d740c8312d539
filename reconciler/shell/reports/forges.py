"""Commit statuses and pull requests in the words of each forge: where they go, with which fields.

A pull request has one file: it is opened, found and closed here. Whose a request is, is said by its
repository and its author, which the answers of a forge tell; anybody may name a branch of a fork.

Source: GitHub, `repos/create-commit-status`, `git/create-ref`,
`repos/create-or-update-file-contents`, `pulls/*` (among them `pulls/list`) and
`users/get-authenticated` of its OpenAPI (npm @octokit/openapi 23.0.2); GitLab, "Set commit pipeline
status" of its Commits API, and its Commits, Branches, Merge requests and Users APIs; Gitea,
`repoCreateStatus`, `repoCreateFile`, `repoUpdateFile`, `repoCreatePullRequest`,
`repoEditPullRequest`, `repoDeleteBranch`, `repoListPullRequests` and `userGetCurrent` of its
swagger.
"""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import TypeAlias, cast
from urllib.parse import quote, urlsplit

import httpx

from reconciler.errors import ShellError, UsageError
from reconciler.model.records import dataclass
from reconciler.shell.reports.outbox import (
    READ_BYTES,
    OutgoingRequest,
    asked_wait,
    is_loopback,
    unreachable,
)

LONGEST_DESCRIPTION = 140  # characters, the limit of GitHub; GitLab has 255


class StatusState(StrEnum):
    """How a commit stands, in GitHub's words."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"


GITLAB_STATES = {StatusState.FAILURE: "failed", StatusState.ERROR: "failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStatus:
    """What is said of a commit.

    Attributes:
        revision: Full hex id of the commit.
        state: How it stands.
        description: One line; it is cut where forges cut it.
        decision: Full hex id of the commit that holds the decision, `None` if there is none.
    """

    revision: str
    state: StatusState
    description: str
    decision: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """How statuses of one repository are posted at one forge.

    Attributes:
        kind: github, gitlab or gitea.
        api: Address of the forge's API.
        project: Address of the repository in it.
        commits: Address of a commit for people, but for its id.
        headers_of: Who asks, given the token.
        token: Returns what it is now.
        body: The fields of a status, given its context and its link.
    """

    kind: str
    api: str
    project: str
    commits: str
    headers_of: Callable[[str], Mapping[str, str]]
    token: Callable[[], str]
    body: Callable[[CommitStatus, str, str], Mapping[str, str]]

    @property
    def headers(self) -> Mapping[str, str]:
        """Who asks, with the token that is right now."""
        return self.headers_of(self.token())

    @property
    def statuses(self) -> str:
        """Address to which the id of a commit is added."""
        return f"{self.project}/statuses/"

    def request(self, status: CommitStatus, *, context: str) -> OutgoingRequest:
        """Return the request that posts a status; a newer one of the same commit replaces it."""
        link = f"{self.commits}{status.decision or status.revision}"
        return OutgoingRequest(
            url=f"{self.statuses}{status.revision}",
            headers={"Content-Type": "application/json"},
            signed=lambda: self.headers,
            body=json.dumps(self.body(status, context, link)).encode(),
            key=status.revision,
        )


def open_forge(
    kind: str,
    address: str,
    token: str | Callable[[], str],
    *,
    branch: str,
    option: str = "--report",
) -> Forge:
    """Return how statuses are posted for a repository.

    Args:
        kind: github, gitlab or gitea.
        address: Of the repository, as in a browser.
        token: Of an account that may write statuses, or what returns it as it is by then.
        branch: The branch that is served; GitLab shows a status at one branch.
        option: That names the address, for the message of an error.

    Raises:
        UsageError: The address is not one of a repository.
    """
    current = (lambda: token) if isinstance(token, str) else token
    origin, path = split_address(address, option)
    folders = path.removesuffix(".git").strip("/").split("/")
    if len(folders) < 2 or not all(folders):
        raise UsageError(f'{option} {kind} "{address}" must name a repository: {origin}/OWNER/NAME')
    quoted = [quote(folder, safe="") for folder in folders]
    project, tail = "%2F".join(quoted), "/".join(quoted[-2:])
    base = "/".join((origin, *quoted[:-2]))
    page = "/".join((origin, *quoted))
    match kind:
        case "gitlab":
            return Forge(
                kind=kind,
                api=f"{origin}/api/v4",
                project=f"{origin}/api/v4/projects/{project}",
                commits=f"{page}/-/commit/",
                headers_of=lambda secret: {"PRIVATE-TOKEN": secret},
                token=current,
                body=partial(_gitlab_body, branch),
            )
        case "gitea":
            return Forge(
                kind=kind,
                api=f"{base}/api/v1",
                project=f"{base}/api/v1/repos/{tail}",
                commits=f"{page}/commit/",
                headers_of=lambda secret: {
                    "Authorization": f"token {secret}",
                    "Accept": "application/json",
                },
                token=current,
                body=_github_body,
            )
    public = origin == "https://github.com"
    api = "https://api.github.com" if public else f"{origin}/api/v3"
    return Forge(
        kind=kind,
        api=api,
        project=f"{api}/repos/{tail}",
        commits=f"{page}/commit/",
        headers_of=lambda secret: {
            "Authorization": f"Bearer {secret}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
        token=current,
        body=_github_body,
    )


def split_address(address: str, option: str = "--report") -> tuple[str, str]:
    """Return origin and path of an address that may be sent credentials.

    Raises:
        UsageError: It is not https, nor http on the loopback, or it has parts that do not belong.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    if not safe or not host or not address.isprintable():
        raise UsageError(f"the URL of {option} must be https://HOST/PATH")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(f"the URL of {option} must have no credentials, query or fragment")
    return f"{parts.scheme}://{parts.netloc}", parts.path


def _github_body(status: CommitStatus, context: str, link: str) -> Mapping[str, str]:
    return {
        "state": status.state,
        "target_url": link,
        "description": _cut(status.description),
        "context": context,
    }


def _gitlab_body(branch: str, status: CommitStatus, context: str, link: str) -> Mapping[str, str]:
    return {
        "state": GITLAB_STATES.get(status.state, status.state),
        "target_url": link,
        "description": _cut(status.description),
        "name": context,
        "ref": branch,
    }


def _cut(text: str) -> str:
    """Return a description that no forge refuses for its length."""
    return text if len(text) <= LONGEST_DESCRIPTION else f"{text[: LONGEST_DESCRIPTION - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """A request, open or not.

    Attributes:
        branch: From which it is; in a fork anybody names it.
        number: Of the request.
        author: Who opened it, `""` where that account is gone.
        title: Its title.
        is_merged: Whether it was merged.
        is_ours: Whether it is from a branch of the repository itself, by the account that asks.
    """

    branch: str
    number: int
    author: str
    title: str
    is_merged: bool
    is_ours: bool


def account_of(answered: object, kind: str) -> str:
    """Return the name of the account that asks.

    Raises:
        ShellError: The answer has another shape.
    """
    return _text(_mapping(answered, "the account"), "username" if kind == "gitlab" else "login")


def requests_of(answered: object, kind: str, account: str) -> tuple[MergeRequest, ...]:
    """Return the requests of a page of them.

    Args:
        answered: What the forge answered.
        kind: github, gitlab or gitea.
        account: Who asks, `""` where the forge does not tell: then the repository counts alone,
            since only those who may push have branches in it.

    Raises:
        ShellError: The answer has another shape.
    """
    if not isinstance(answered, list):
        raise ShellError(f"the forge answered no list of requests, but {_shape(answered)}")
    decode = _of_gitlab if kind == "gitlab" else _of_github
    return tuple(decode(_mapping(request, "a request"), account) for request in answered)


def _of_gitlab(request: Mapping[str, object], account: str) -> MergeRequest:
    """Return a merge request; `source_project_id` is null where a fork is gone."""
    author = _login(request.get("author"), "username")
    source, target = request.get("source_project_id"), _number(request, "target_project_id")
    return MergeRequest(
        branch=_text(request, "source_branch"),
        number=_number(request, "iid"),
        author=author,
        title=_text(request, "title"),
        is_merged=request.get("merged_at") is not None,
        is_ours=source == target and account in ("", author),
    )


def _of_github(request: Mapping[str, object], account: str) -> MergeRequest:
    """Return a pull request of GitHub or Gitea; `head.repo` is null where a fork is gone."""
    author = _login(request.get("user"), "login")
    head = _mapping(request.get("head"), "`head` of a request")
    base = _mapping(request.get("base"), "`base` of a request")
    own = _number(_mapping(base.get("repo"), "`base.repo` of a request"), "id")
    source = head.get("repo")
    from_id = None if source is None else _number(_mapping(source, "`head.repo`"), "id")
    return MergeRequest(
        branch=_text(head, "ref"),
        number=_number(request, "number"),
        author=author,
        title=_text(request, "title"),
        is_merged=request.get("merged_at") is not None,
        is_ours=from_id == own and account in ("", author),
    )


def _login(user: object, field: str) -> str:
    return "" if user is None else _text(_mapping(user, "the author of a request"), field)


def _mapping(found: object, what: str) -> Mapping[str, object]:
    if not isinstance(found, dict):
        raise ShellError(f"the forge answered {_shape(found)} where {what} was asked for")
    return found


def _text(found: Mapping[str, object], field: str) -> str:
    value = found.get(field)
    if not isinstance(value, str):
        raise ShellError(f"the forge answered `{field}` as {_shape(value)}; it must be a text")
    return value


def _number(found: Mapping[str, object], field: str) -> int:
    value = found.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ShellError(f"the forge answered `{field}` as {_shape(value)}; it must be a number")
    return value


def _shape(found: object) -> str:
    """Return what kind of JSON something is; its content is a stranger's."""
    names = {dict: "an object", list: "a list", str: "a text", type(None): "nothing"}
    return names.get(type(found), "a number or a truth value")


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
        requests = self._listed(LISTINGS[self.forge.kind].format, MOST_PAGES)
        return tuple(request for request in requests if request.branch.startswith(prefix))

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
            request.branch == branch
            and request.is_ours
            and not request.is_merged
            and not request.title.startswith(OUT_OF_DATE)
            for request in self._listed(listing, FEW_PAGES)
        )

    def _listed(self, listing: Callable[[int], str], pages: int) -> tuple[MergeRequest, ...]:
        """Return the requests of a list, page by page until there is nothing new."""
        account = self._account()
        requests: dict[int, MergeRequest] = {}
        for page in range(1, pages + 1):
            answered = requests_of(self._ask("GET", listing(page)), self.forge.kind, account)
            fresh = [request for request in answered if request.number not in requests]
            requests |= {request.number: request for request in fresh}
            if not fresh:
                break
        return tuple(requests.values())

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
    present = {} if one.blob is None else {"sha": one.blob}
    return {"message": one.title, "content": _encoded(one), **present}


def _pull(one: Proposal) -> dict[str, object]:
    """Return the fields of a pull request that GitHub and Gitea share."""
    return {"title": one.title, "head": one.branch, "base": one.base, "body": one.text}


def _encoded(one: Proposal) -> str:
    return base64.b64encode(one.content).decode()
