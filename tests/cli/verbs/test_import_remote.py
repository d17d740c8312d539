"""`reconciler import --remote`: it gets in as the daemon does, at real servers."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.cli.options import CREDENTIAL
from reconciler.cli.verbs.begin import import_command
from reconciler.cli.verbs.run import run_command
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import AllowedKeys, read_signatures
from tests.cli.history import answer
from tests.cli.verbs.test_import import BY_ADA, CLUSTER, Capsys, export
from tests.shell.keys import allowing, new_ssh_key
from tests.shell.remote_servers import Trouble, basic, new_certificate, ssh_server, web_server
from tests.shell.repositories import Checkout, git, new_bare, new_checkout

FILE = "clusters/member1.yaml"


@dataclass(frozen=True)
class Importer:
    """Imports a cluster into a remote."""

    fleet: Checkout
    bare: Path
    source: str
    capsys: Capsys

    def push(self, url: str, *options: str) -> tuple[int, str]:
        """Import and push; return the exit code and what was told."""
        to = ("--remote", url, "--branch", "main", *BY_ADA, *options)
        code, _, err = answer(self.fleet, self.capsys, "import", self.source, *to)
        return code, err

    @property
    def files(self) -> list[str]:
        """Return what the remote has."""
        return git(self.bare, "ls-tree", "-r", "--name-only", "main").splitlines()


@pytest.fixture
def importer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> Importer:
    """A remote with one commit, and an export."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bare = new_bare(tmp_path / "remote", {"README.md": "Ours.\n"})
    fleet = new_checkout(tmp_path / "fleet", {"README.md": "Ours.\n"})
    return Importer(fleet, bare, export(tmp_path, [CLUSTER]), capsys)


@pytest.mark.parametrize("given", ["file", "environment"])
def test_a_credential_and_a_certificate_let_in(
    importer: Importer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """By https, where without either nothing is pushed, and no message has the password."""
    certificate = new_certificate(tmp_path)
    file = tmp_path / "credential"
    file.write_text("me:pw-0123456789\n")
    with web_server(tmp_path, certificate=certificate) as web:
        web.credential = basic("me", "pw-0123456789")
        url, trusted = f"{web.url}/remote", ("--ca-file", str(certificate.file))
        untrusted = importer.push(url)
        nobody = importer.push(url, *trusted)
        if given == "environment":
            monkeypatch.setenv(CREDENTIAL, "me:pw-0123456789")
            code, told = importer.push(url, *trusted)
        else:
            code, told = importer.push(url, *trusted, "--credential-file", str(file))

    assert (1, True) == (untrusted[0], "certificate" in untrusted[1])
    assert (1, True) == (nobody[0], "check the URL and the credentials" in nobody[1])
    assert (0, True) == (code, FILE in importer.files)
    assert "pw-0123456789" not in untrusted[1] + nobody[1] + told


def test_a_key_and_a_known_host_let_in(importer: Importer, tmp_path: Path) -> None:
    """By ssh; a host with another key than the operator names gets nothing."""
    with ssh_server(tmp_path / "ssh") as ssh:
        url, key = ssh.url(importer.bare), ("--ssh-key-file", str(ssh.key))
        stranger, told = importer.push(url, *key, "--known-hosts-file", str(ssh.other_hosts))
        code, _ = importer.push(url, *key, "--known-hosts-file", str(ssh.known_hosts))

    assert (1, True) == (stranger, "--known-hosts" in told)
    assert (0, True) == (code, FILE in importer.files)


def test_what_is_pushed_is_signed(importer: Importer, tmp_path: Path) -> None:
    """So that it counts where only signed commits are decided from, and says for what."""
    key = new_ssh_key(tmp_path / "keys", "importer")
    allowed = AllowedKeys(signers=allowing(tmp_path, key))

    code, _ = importer.push(str(importer.bare), "--signing-key", str(key.file))

    pushed = git(importer.bare, "rev-parse", "main")
    [signature] = read_signatures(Repository.open(importer.bare), [pushed], allowed)
    assert (0, "") == (code, signature.problem)
    trailers = git(importer.bare, "log", "-1", "--format=%(trailers)", pushed)
    assert "Reconciled-For: reports main" == trailers.strip()


def test_what_a_killed_import_left_in_its_mirror_goes_with_the_next(
    importer: Importer, tmp_path: Path
) -> None:
    """No pass runs in that mirror, so nobody else would take it away."""
    importer.push(str(importer.bare), "--dry-run")
    [mirror] = (tmp_path / "cache").rglob("repository.git")
    left = [mirror / "reconciler/0123.import/objects", mirror / "objects/pack/tmp_pack_0123"]
    for folder in left:
        folder.mkdir(parents=True)

    code, _ = importer.push(str(importer.bare))

    assert (0, []) == (code, [*mirror.rglob("*.import"), *mirror.rglob("tmp_pack_*")])


def test_a_key_that_cannot_be_read_is_told(importer: Importer) -> None:
    """Before anything is pushed."""
    code, told = importer.push(str(importer.bare), "--signing-key", "/nowhere")

    assert (2, True) == (code, '--signing-key "/nowhere" cannot be read' in told)
    assert ["README.md"] == importer.files


def test_a_server_that_is_silent_is_given_up(importer: Importer, tmp_path: Path) -> None:
    """After as long as the operator says."""
    with web_server(tmp_path, certificate=new_certificate(tmp_path)) as web:
        web.trouble = Trouble.STALL
        options = ("--ca-file", str(tmp_path / "server.pem"), "--remote-timeout-seconds", "1")
        code, told = importer.push(f"{web.url}/remote", *options)

    assert (1, True) == (code, "1 second" in told)


@pytest.mark.parametrize("option", ["--ca-file", "--signing-key"])
def test_what_is_of_use_for_a_remote_only_needs_one(importer: Importer, option: str) -> None:
    """Else a person would think that it was pushed, or signed."""
    arguments = ("import", importer.source, option, "file")
    code, _, err = answer(importer.fleet, importer.capsys, *arguments)

    assert (2, True) == (code, f"{option} requires --remote" in err)


def test_the_options_are_those_of_the_daemon() -> None:
    """The same names, variables, defaults and texts; they are written once."""
    names = ("credential_file", "ca_file", "ssh_key_file", "known_hosts_file")
    of_both = [
        [
            (one.opts, one.envvar, one.default, getattr(one, "help", None))
            for one in verb.params
            if one.name in (*names, "remote_timeout_seconds")
        ]
        for verb in (run_command, import_command)
    ]

    assert 5 == len(of_both[0])
    assert of_both[0] == of_both[1]
