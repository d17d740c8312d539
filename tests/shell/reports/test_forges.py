"""Commit statuses as each forge has them, held to the contract of its API."""

from urllib.parse import urlsplit

import pytest

from reconciler.errors import UsageError
from reconciler.shell.reports.forges import CommitStatus, StatusState, open_forge
from reconciler.shell.reports.outbox import Outbox
from tests.shell.receivers import contract_faults, receiver

TOKEN = "0123456789abcdef0123"  # noqa: S105  # of tests only
REVISION, DECISION = "a" * 40, "b" * 40


@pytest.mark.parametrize("state", list(StatusState))
@pytest.mark.parametrize(
    ("kind", "base", "token"),
    [
        pytest.param("github", "/api/v3", {"Authorization": f"Bearer {TOKEN}"}, id="github"),
        pytest.param("gitlab", "/api/v4", {"PRIVATE-TOKEN": TOKEN}, id="gitlab"),
        pytest.param("gitea", "/api/v1", {"Authorization": f"token {TOKEN}"}, id="gitea"),
    ],
)
def test_a_status_is_posted_by_the_contract(
    kind: str, base: str, token: dict[str, str], state: StatusState
) -> None:
    """Path, method, type and fields; the token stands where the forge looks for it."""
    status = CommitStatus(revision=REVISION, state=state, description="x" * 1000, decision=DECISION)
    with receiver() as server, Outbox(kind) as outbox:
        forge = open_forge(kind, f"{server.url}/platform/fleet", TOKEN, branch="main")
        outbox.post(forge.request(status, context="reconciler/production"))
    (request,) = server.received

    assert [] == contract_faults(kind, request, base=base)
    assert token.items() <= dict(request.headers.items()).items()
    fields = request.fields
    assert "reconciler/production" == fields["name" if kind == "gitlab" else "context"]
    assert f"/platform/fleet/{'-/' if kind == 'gitlab' else ''}commit/{DECISION}" == (
        urlsplit(fields["target_url"]).path
    )


@pytest.mark.parametrize(
    ("kind", "address", "expected"),
    [
        pytest.param(
            "github",
            "https://github.com/acme/fleet.git",
            "https://api.github.com/repos/acme/fleet/statuses/",
            id="github.com",
        ),
        pytest.param(
            "github",
            "https://ghe.example.com/acme/fleet",
            "https://ghe.example.com/api/v3/repos/acme/fleet/statuses/",
            id="github-enterprise",
        ),
        pytest.param(
            "gitlab",
            "https://gitlab.example.com:8443/acme/team/fleet/",
            "https://gitlab.example.com:8443/api/v4/projects/acme%2Fteam%2Ffleet/statuses/",
            id="gitlab-subgroup",
        ),
        pytest.param(
            "gitea",
            "https://example.com/git/acme/fleet",
            "https://example.com/git/api/v1/repos/acme/fleet/statuses/",
            id="gitea-below-a-path",
        ),
    ],
)
def test_where_a_forge_takes_statuses(kind: str, address: str, expected: str) -> None:
    """Told from the address that people see."""
    assert expected == open_forge(kind, address, TOKEN, branch="main").statuses


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("http://example.com/a/b", id="plain-http-would-show-the-token"),
        pytest.param("https://me:pw@example.com/a/b", id="credentials"),
        pytest.param("https://example.com/fleet", id="no-owner"),
        pytest.param("https://example.com/a/b?x=1", id="query"),
        pytest.param("https:///a/b", id="no-host"),
        pytest.param("git@example.com:a/b.git", id="ssh"),
        pytest.param("http://localhost.evil.example/a/b", id="looks-like-loopback"),
    ],
)
def test_an_address_that_is_no_repository(address: str) -> None:
    """Refused at the start, without the credentials in it."""
    with pytest.raises(UsageError, match="--report") as caught:
        open_forge("github", address, TOKEN, branch="main")
    assert "pw" not in str(caught.value)


def test_a_request_shows_no_token() -> None:
    """Not in its repr, which may end in a trace."""
    forge = open_forge("github", "https://github.com/acme/fleet", TOKEN, branch="main")
    status = CommitStatus(revision=REVISION, state=StatusState.SUCCESS, description="")

    assert TOKEN not in repr(forge.request(status, context="x"))
