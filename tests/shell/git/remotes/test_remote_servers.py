"""A mirror against real servers: https with credentials, redirects, stalls and TLS, and sshd."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.errors import UsageError
from reconciler.model.records import replace
from reconciler.shell.git.command import GitError, RemoteMisconfigured, RemoteUnreachable
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.remotes.remote import Access
from tests.shell.git.remotes.test_mirror import commit
from tests.shell.repositories import git, new_bare
from tests.shell.servers import (
    Certificate,
    SshServer,
    Trouble,
    WebServer,
    basic,
    new_certificate,
    ssh_server,
    web_server,
)

TOKEN = "tok-0123456789"  # noqa: S105  # of tests only


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A remote with one commit."""
    return new_bare(tmp_path / "remote", {"a": "1"})


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    """A certificate that no machine knows."""
    return new_certificate(tmp_path)


@pytest.fixture
def web(tmp_path: Path, bare: Path, certificate: Certificate) -> Iterator[WebServer]:
    """A server of it by https."""
    with web_server(tmp_path, certificate=certificate) as served:
        yield served


@pytest.fixture
def ssh(tmp_path: Path, bare: Path) -> Iterator[SshServer]:
    """A server of it by ssh."""
    with ssh_server(tmp_path / "ssh") as served:
        yield served


def open_mirror(
    web: WebServer, tmp_path: Path, credential: str = "", *, timeout_seconds: float = 120.0
) -> Mirror:
    """Open a mirror of the remote that trusts its server."""
    return Mirror.open(
        f"{web.url}/remote",
        tmp_path / "mirror",
        access=Access(credential=credential, ca_file=tmp_path / "server.pem"),
        timeout_seconds=timeout_seconds,
    )


def goes_round(mirror: Mirror, bare: Path) -> bool:
    """Fetch, commit and push; return whether the remote has it."""
    old = mirror.fetch("main")
    new = commit(mirror, "b", "2", parent=old)
    mirror.push("main", old=old, new=new)
    return new == git(bare, "rev-parse", "main")


@pytest.mark.parametrize(
    ("credential", "asked"),
    [
        pytest.param("", "", id="none"),
        pytest.param("me@corp:p w:%", basic("me@corp", "p w:%"), id="basic"),
        pytest.param(f"Bearer {TOKEN}", f"Bearer {TOKEN}", id="bearer"),
    ],
)
def test_a_credential_lets_in(
    tmp_path: Path, bare: Path, web: WebServer, credential: str, asked: str
) -> None:
    """Over TLS, both ways."""
    web.credential = asked
    with open_mirror(web, tmp_path, credential) as mirror:
        assert goes_round(mirror, bare)


@pytest.mark.parametrize("credential", ["me:wrong-word", "Bearer wrong-word"])
def test_a_wrong_credential_is_told_and_not_shown(
    tmp_path: Path, web: WebServer, credential: str
) -> None:
    """An operator must act."""
    web.credential = basic("me", TOKEN)
    with open_mirror(web, tmp_path, credential) as mirror, pytest.raises(GitError) as caught:
        mirror.fetch("main")

    assert isinstance(caught.value, RemoteMisconfigured)
    assert str(caught.value).endswith("check the URL and the credentials")
    assert "wrong-word" not in str(caught.value)


def test_a_credential_is_renewed_in_its_file(tmp_path: Path, bare: Path, web: WebServer) -> None:
    """A token that was exchanged counts for the next command."""
    file = tmp_path / "credential"
    file.write_text("me:old\n")
    access = Access(credential_file=file, ca_file=tmp_path / "server.pem")
    with Mirror.open(f"{web.url}/remote", tmp_path / "mirror", access=access) as mirror:
        web.credential = basic("me", "new")
        with pytest.raises(RemoteMisconfigured):
            mirror.fetch("main")
        file.write_text("me:new\n")

        assert goes_round(mirror, bare)
        file.unlink()
        with pytest.raises(RemoteMisconfigured, match="cannot be read: No such file"):
            mirror.fetch("main")


@pytest.mark.parametrize("credential", ["me:pw-word", f"Bearer {TOKEN}"], ids=["basic", "bearer"])
def test_no_credential_follows_a_redirect_to_another_server(
    tmp_path: Path, web: WebServer, certificate: Certificate, credential: str
) -> None:
    """The other one, which asks for it, gets nothing."""
    with web_server(tmp_path, certificate=certificate) as evil:
        evil.credential = "anything"
        web.elsewhere = evil.url
        with open_mirror(web, tmp_path, credential) as mirror, pytest.raises(RemoteMisconfigured):
            mirror.fetch("main")

        assert {""} >= {given for _, given in evil.asked}


def test_a_redirect_on_the_same_server_is_followed(
    tmp_path: Path, bare: Path, web: WebServer
) -> None:
    """With the credential: a repository was renamed there."""
    bare.rename(tmp_path / "renamed")
    web.credential = basic("me", "pw")
    web.renamed = ("/remote/", "/renamed/")
    with open_mirror(web, tmp_path, "me:pw") as mirror:
        assert goes_round(mirror, tmp_path / "renamed")


def test_a_redirect_with_a_bearer_token_names_what_to_do(tmp_path: Path, web: WebServer) -> None:
    """Git would send the token along, so it follows none."""
    web.renamed = ("/remote/", "/renamed/")
    with (
        open_mirror(web, tmp_path, f"Bearer {TOKEN}") as mirror,
        pytest.raises(RemoteMisconfigured, match="302; name the address that it redirects to"),
    ):
        mirror.fetch("main")


def test_a_server_that_stops_in_a_pack_is_given_up(tmp_path: Path, web: WebServer) -> None:
    """After the time limit; the next fetch works."""
    web.trouble = Trouble.STALL
    with open_mirror(web, tmp_path, timeout_seconds=2.0) as mirror:
        with pytest.raises(RemoteUnreachable, match="git fetch took longer than 2 seconds"):
            mirror.fetch("main")
        web.trouble = Trouble.NONE
        mirror.recover()
        assert None is not mirror.fetch("main")


def test_a_certificate_of_a_stranger_is_refused(tmp_path: Path, web: WebServer) -> None:
    """Without the option, in words."""
    with (
        Mirror.open(f"{web.url}/remote", tmp_path / "mirror") as mirror,
        pytest.raises(RemoteMisconfigured, match="the machine or --ca-file must have"),
    ):
        mirror.fetch("main")


def test_a_push_whose_answer_was_lost_counts(tmp_path: Path, bare: Path, web: WebServer) -> None:
    """The remote is asked what it has."""
    with open_mirror(web, tmp_path) as mirror:
        web.trouble = Trouble.LOST_ANSWER
        assert goes_round(mirror, bare)


def ssh_access(ssh: SshServer) -> Access:
    """Return what lets in."""
    return Access(ssh_key_file=ssh.key, known_hosts_file=ssh.known_hosts)


def test_ssh_goes_round(tmp_path: Path, bare: Path, ssh: SshServer) -> None:
    """With the key and the host's key of the operator."""
    with Mirror.open(ssh.url(bare), tmp_path / "mirror", access=ssh_access(ssh)) as mirror:
        assert goes_round(mirror, bare)


def test_an_unknown_host_is_refused(tmp_path: Path, bare: Path, ssh: SshServer) -> None:
    """Whether it is not known at all, or has another key."""
    empty = tmp_path / "nobody"
    empty.touch()
    for hosts in (empty, ssh.other_hosts):
        access = replace(ssh_access(ssh), known_hosts_file=hosts)
        with (
            Mirror.open(ssh.url(bare), tmp_path / "mirror", access=access) as mirror,
            pytest.raises(RemoteMisconfigured, match="compare its key and add it to --known-hosts"),
        ):
            mirror.fetch("main")


def test_a_key_that_the_server_does_not_know_is_told(
    tmp_path: Path, bare: Path, ssh: SshServer
) -> None:
    """No other key is offered in its place."""
    access = replace(ssh_access(ssh), ssh_key_file=ssh.other_key)
    with (
        Mirror.open(ssh.url(bare), tmp_path / "mirror", access=access) as mirror,
        pytest.raises(RemoteMisconfigured, match=r"Permission denied \(publickey\)"),
    ):
        mirror.fetch("main")


@pytest.mark.parametrize(
    ("url", "access", "message"),
    [
        pytest.param(
            "https://h/r", Access(credential=TOKEN), "must be USER:PASSWORD or Bearer", id="lone"
        ),
        pytest.param(
            "https://h/r", Access(credential="a:b\nc"), "must be one line", id="two-lines"
        ),
        pytest.param(
            "https://a:b@h/r", Access(credential="a:b"), "in the URL of the remote and", id="twice"
        ),
        pytest.param(
            "ssh://h/r", Access(credential="a:b"), "--credential-file goes with .* https", id="ssh"
        ),
        pytest.param(
            "https://h/r",
            Access(ssh_key_file=Path("/dev/null")),
            "--ssh-key-file goes with a remote by ssh",
            id="https",
        ),
        pytest.param(
            "https://h/r",
            Access(ca_file=Path("/no")),
            '"/no" cannot be read: No such',
            id="no-file",
        ),
    ],
)
def test_an_access_that_cannot_be_meant_is_refused(
    tmp_path: Path, url: str, access: Access, message: str
) -> None:
    """Before anything is asked, without the secret."""
    with pytest.raises(UsageError, match=message) as caught:
        Mirror.open(url, tmp_path / "mirror", access=access)

    assert TOKEN not in str(caught.value)
