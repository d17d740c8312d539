"""Options that let git into a remote: secrets come from files or the environment only."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options.option_group import Option, gathered

if TYPE_CHECKING:
    from reconciler.shell.git.remotes.access import Access

CREDENTIAL = "RECONCILER_CREDENTIAL"
REMOTE_TIMEOUT_SECONDS = 120.0  # a first fetch of a large repository takes a minute


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """What lets git into a remote, and how long a command may take; `None` leaves it to git."""

    credential_file: Path | None
    ca_file: Path | None
    ssh_key_file: Path | None
    known_hosts_file: Path | None
    remote_timeout_seconds: float

    @property
    def files(self) -> tuple[str, ...]:
        """Return the options that name a file."""
        named = {
            "--credential-file": self.credential_file,
            "--ca-file": self.ca_file,
            "--ssh-key-file": self.ssh_key_file,
            "--known-hosts-file": self.known_hosts_file,
        }
        return tuple(option for option, file in named.items() if file is not None)

    def read(self) -> "Access":
        """Return it with the credential of the environment."""
        from reconciler.shell.git.remotes.access import Access

        return Access(
            credential=os.environ.get(CREDENTIAL, ""),
            credential_file=self.credential_file,
            ca_file=self.ca_file,
            ssh_key_file=self.ssh_key_file,
            known_hosts_file=self.known_hosts_file,
        )


def _file(name: str, variable: str, says: str) -> Option:
    return click.option(
        name, metavar="FILE", envvar=variable, type=click.Path(path_type=Path), help=says
    )


ACCESS_OPTIONS = (
    _file(
        "--credential-file",
        f"{CREDENTIAL}_FILE",
        f"USER:PASSWORD or Bearer TOKEN for https; it may be renewed  [or: ${CREDENTIAL}]",
    ),
    _file(
        "--ca-file",
        "RECONCILER_CA_FILE",
        "Certificates (PEM) that may sign that of the https server, instead of the machine's.",
    ),
    _file("--ssh-key-file", "RECONCILER_SSH_KEY_FILE", "The private key for ssh."),
    _file(
        "--known-hosts-file",
        "RECONCILER_KNOWN_HOSTS_FILE",
        "Keys of hosts that ssh accepts, instead of those that the user has.",
    ),
    click.option(
        "--remote-timeout-seconds",
        type=click.FloatRange(min=1.0),
        envvar="RECONCILER_REMOTE_TIMEOUT_SECONDS",
        default=REMOTE_TIMEOUT_SECONDS,
        show_default=True,
        help="Give up a fetch or a push after this long.",
    ),
)


def access_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that let git into a remote; the verb gets them as its `access`."""
    return gathered(function, "access", RemoteAccess, ACCESS_OPTIONS)
