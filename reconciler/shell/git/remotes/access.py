"""How an operator lets git into a remote: a credential, a key, and whom to trust.

The file of a credential is read for each command, so a token that is renewed there counts at once.
"""

import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from reconciler.errors import UsageError
from reconciler.shell.git.environment import SSH_COMMAND
from reconciler.shell.git.remotes.remote import Remote, askpass_variables

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
            found = self.credential.strip()
        else:
            found = _read("--credential-file", self.credential_file).strip()
            if not found:
                raise UsageError(f'--credential-file "{self.credential_file}" is empty')
        if not found.isprintable():
            raise UsageError(f"the credential of the remote must be one line: {FORMS}")
        return found

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
