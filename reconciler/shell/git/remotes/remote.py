"""Addresses of remotes: which are accepted, and how an operator lets git into them.

Access is a credential, a key, and whom to trust. The file of a credential is read for each command,
so a token that is renewed there counts at once.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from reconciler.errors import UsageError
from reconciler.model.records import dataclass, field, replace
from reconciler.shell.git.command import SSH_COMMAND

SCP_LIKE = re.compile(r"(?:[A-Za-z0-9_.][\w.-]*@)?[A-Za-z0-9_][\w.-]*:(?!:)(?!//)[^-:].*")
SCP_PASSWORD = re.compile(
    r"(?P<user>[A-Za-z0-9_.][\w.-]*):(?P<password>[^/@:]*)@(?P<rest>[^/@]+:.*)"
)
HOST = re.compile(r"[A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.]+\]")
SHORT = 3  # no secret is as short, and masking it would hide ordinary text
ACCEPTED = "https://host/path, ssh://host/path, user@host:path, file:///path or an absolute path"

ASKPASS = """\
#!/bin/sh
# Answers git for one host only, so that a redirect elsewhere gets nothing.
case "$1" in
Username*"'$RECONCILER_GIT_ORIGIN'"*) printf '%s\\n' "$RECONCILER_GIT_USERNAME" ;;
Password*"'$RECONCILER_GIT_ORIGIN_USER'"* | \
Password*"'$RECONCILER_GIT_ORIGIN_ENCODED'"*) printf '%s\\n' "$RECONCILER_GIT_PASSWORD" ;;
*) exit 1 ;;
esac
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """An address that was checked.

    Attributes:
        url: Without credentials, fit for a command line and a message.
        protocol: The one protocol that git may use: `https`, `ssh`, `file`, ...
        variables: Environment that hands credentials to git; empty without any.
        settings: Configuration that does, where they are part of the address itself.
        secrets: Texts that never appear in an error.
    """

    url: str
    protocol: str
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def parse_remote(address: str, *, insecure: bool = False) -> Remote:
    """Check the address of a remote, and take the credentials out of it.

    Args:
        address: What the operator gave; never what a repository says.
        insecure: Accept http and git as well, which anybody on the way can read and change.

    Raises:
        UsageError: It is not accepted; the message shows no credentials.
    """
    if not address.isprintable() or address.startswith("-") or " " in address:
        raise UsageError(f"the URL of a remote must be plain text; write {ACCEPTED}")
    if address.startswith("/"):
        return Remote(url=address, protocol="file")
    if "://" not in address:
        if match := SCP_PASSWORD.fullmatch(address):  # ssh takes no password from an address
            address = f"{match['user']}@{match['rest']}"
        if SCP_LIKE.fullmatch(address):
            return Remote(url=address, protocol="ssh")
        raise UsageError(f"the URL of a remote must be {ACCEPTED}")
    accepted = {"https", "ssh", "file"} | ({"http", "git"} if insecure else set())
    protocol = address.partition("://")[0]
    if protocol not in accepted:
        raise UsageError(f'"{protocol}" is no protocol for a remote; write {ACCEPTED}')
    return _parse_url(address)


def _parse_url(address: str) -> Remote:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(
            f"the URL of a remote has a strange host or port; write {ACCEPTED}"
        ) from None
    if parts.scheme == "file":
        if parts.netloc or not parts.path.startswith("/"):
            raise UsageError("a file URL must name no host: file:///path")
        return Remote(url=address, protocol="file")
    place = f"[{host}]" if ":" in host else host
    if not HOST.fullmatch(place) or (parts.username or "").startswith("-"):
        raise UsageError(f"the URL of a remote must name a host; write {ACCEPTED}")
    where = f"{place}:{port}" if port else place
    if parts.scheme == "ssh":
        user = f"{parts.username}@" if parts.username else ""
        return _with_query(
            Remote(url=f"ssh://{user}{where}{parts.path}", protocol="ssh"), parts.query
        )
    origin = f"{parts.scheme}://{where}"
    remote = _with_credentials(origin, parts.path, parts.username, parts.password)
    return _with_query(remote, parts.query)


def _with_query(remote: Remote, query: str) -> Remote:
    """Hand the query of a URL to git as a setting: tokens are written there, too.

    What is shown, stored and named on the command line is the URL without it.
    """
    if not query:
        return remote
    raw = [part.partition("=")[2] for part in query.split("&")]
    values = {text for value in raw for text in (value, unquote(value)) if len(text) > SHORT}
    return replace(
        remote,
        settings={f"url.{remote.url}?{query}.insteadOf": remote.url},
        secrets=(*remote.secrets, query, *sorted(values, key=len, reverse=True)),
    )


def _with_credentials(origin: str, path: str, username: str | None, password: str | None) -> Remote:
    """Hand user name and password to git in the environment, not in a list of arguments."""
    protocol = origin.partition(":")[0]
    if username is None:
        return Remote(url=origin + path, protocol=protocol)
    # A lone token stands where the user name is; forges accept it with any password.
    user, secret = unquote(username), unquote(password or "")
    shown = username if password is not None else "***"
    return Remote(
        url=origin + path,
        protocol=protocol,
        variables=askpass_variables(origin, user, secret),
        secrets=tuple(
            text for text in (password, secret, user if shown == "***" else None) if text
        ),
    )


def askpass_variables(origin: str, user: str, password: str) -> dict[str, str]:
    """Return the environment in which git gets a password for one server.

    Args:
        origin: Scheme, host and port, such as `https://git.example.com`.
        user: Name as it is, not encoded.
        password: As it is.
    """
    return {
        "RECONCILER_GIT_ORIGIN": origin,
        "RECONCILER_GIT_ORIGIN_USER": origin.replace("://", f"://{user}@", 1),
        "RECONCILER_GIT_ORIGIN_ENCODED": origin.replace("://", f"://{quote(user, safe='')}@", 1),
        "RECONCILER_GIT_USERNAME": user,
        "RECONCILER_GIT_PASSWORD": password,
    }


WEB = ("https", "http")
BEARER = "Bearer "
LONGEST_CREDENTIAL = 16 * 1024
FORMS = "USER:PASSWORD or Bearer TOKEN; for a token of a forge x-access-token:TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What an operator gives; `None` and `""` leave it to git, ssh and the machine.

    Attributes:
        credential: `USER:PASSWORD` or `Bearer TOKEN`, for https.
        credential_file: One line with the same; it counts instead of `credential`.
        ca_file: Certificates in PEM that sign that of an https server, instead of the machine's.
        ssh_key_file: The only private key that ssh offers.
        known_hosts_file: Keys of hosts that ssh accepts, instead of those that it knows.
    """

    credential: str = field(default="", repr=False)
    credential_file: Path | None = None
    ca_file: Path | None = None
    ssh_key_file: Path | None = None
    known_hosts_file: Path | None = None

    def check(self, remote: Remote) -> None:
        """Check that all of it is of use for a remote, and that its files can be read.

        Raises:
            UsageError: It is not.
        """
        if (self.credential or self.credential_file) and remote.secrets:
            raise UsageError("a credential stands in the URL of the remote and beside it; keep one")
        for option, given, protocols in (
            ("--credential-file", self.credential_file or self.credential, WEB),
            ("--ca-file", self.ca_file, WEB),
            ("--ssh-key-file", self.ssh_key_file, ("ssh",)),
            ("--known-hosts-file", self.known_hosts_file, ("ssh",)),
        ):
            if given and remote.protocol not in protocols:
                raise UsageError(f"{option} goes with a remote by {protocols[0]}")
            if isinstance(given, Path):
                _read(option, given)
        self.applied(remote)

    def applied(self, remote: Remote) -> Remote:
        """Return a remote as git reaches it now.

        Raises:
            UsageError: The credential is none.
        """
        variables, settings = dict(remote.variables), dict(remote.settings)
        secrets = remote.secrets
        if credential := self._credential():
            name, colon, secret = credential.partition(":")
            if credential.startswith(BEARER):
                secret = credential.removeprefix(BEARER).strip()
                settings["http.extraHeader"] = f"Authorization: Bearer {secret}"
                settings["http.followRedirects"] = "false"  # git would send the header along
            elif colon and name and secret:
                parts = urlsplit(remote.url)
                variables |= askpass_variables(f"{parts.scheme}://{parts.netloc}", name, secret)
            if not secret:
                raise UsageError(f"the credential of the remote must be {FORMS}")
            secrets = (*secrets, secret)
        if self.ca_file is not None:
            variables["GIT_SSL_CAINFO"] = str(self.ca_file.absolute())
        if remote.protocol == "ssh":
            variables["GIT_SSH_COMMAND"] = self._ssh_command()
        return replace(remote, variables=variables, settings=settings, secrets=secrets)

    def _credential(self) -> str:
        if self.credential_file is None:
            credential = self.credential.strip()
        else:
            credential = _read("--credential-file", self.credential_file).strip()
            if not credential:
                raise UsageError(f'--credential-file "{self.credential_file}" is empty')
        if not credential.isprintable():
            raise UsageError(f"the credential of the remote must be one line: {FORMS}")
        return credential

    def _ssh_command(self) -> str:
        options = ["StrictHostKeyChecking=yes"]
        if self.ssh_key_file is not None:
            options += [f"IdentityFile={_ssh_path(self.ssh_key_file)}", "IdentitiesOnly=yes"]
            options += ["IdentityAgent=none"]
        if self.known_hosts_file is not None:
            options += [f"UserKnownHostsFile={_ssh_path(self.known_hosts_file)}"]
            options += ["GlobalKnownHostsFile=/dev/null"]
        return " ".join([SSH_COMMAND, *(f"-o {shlex.quote(option)}" for option in options)])


def _read(option: str, file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as stream:
            return stream.read(LONGEST_CREDENTIAL)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f'{option} "{file}" cannot be read: {reason}') from None


def _ssh_path(file: Path) -> str:
    """Return a path as ssh reads it in an option: in quotes, without meaning for `%`."""
    return '"' + str(file.absolute()).replace("%", "%%") + '"'
