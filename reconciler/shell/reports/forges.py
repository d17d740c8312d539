"""Commit statuses in the words of each forge: where they are posted, with which fields.

Source: GitHub, `repos/create-commit-status` of its OpenAPI (npm @octokit/openapi 23.0.2); GitLab,
"Set commit pipeline status" of its Commits API; Gitea, `repoCreateStatus` of its swagger.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from urllib.parse import quote, urlsplit

from reconciler.errors import UsageError
from reconciler.shell.reports.outbox import OutgoingRequest, is_loopback

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
                headers_of=lambda found: {"PRIVATE-TOKEN": found},
                token=current,
                body=partial(_gitlab_body, branch),
            )
        case "gitea":
            return Forge(
                kind=kind,
                api=f"{base}/api/v1",
                project=f"{base}/api/v1/repos/{tail}",
                commits=f"{page}/commit/",
                headers_of=_gitea_headers,
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
        headers_of=_github_headers,
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


def _github_headers(token: str) -> Mapping[str, str]:
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }


def _gitea_headers(token: str) -> Mapping[str, str]:
    return {"Authorization": f"token {token}", "Accept": "application/json"}


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
