"""What forges answer of pull requests, decoded: whose each is, and from which repository.

Source: GitHub, `pulls/list` and `users/get-authenticated` of its OpenAPI; GitLab, its Merge
requests and Users APIs; Gitea, `repoListPullRequests` and `userGetCurrent` of its swagger.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.errors import ShellError


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
    return tuple(decode(_mapping(one, "a request"), account) for one in answered)


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
