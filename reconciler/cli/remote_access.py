"""Options that let git into a remote: secrets come from files or the environment only."""

from collections.abc import Callable
from pathlib import Path

import click

CREDENTIAL = "RECONCILER_CREDENTIAL"
REMOTE_TIMEOUT_SECONDS = 120.0  # a first fetch of a large repository takes a minute


def _file(
    name: str, variable: str, says: str
) -> Callable[[Callable[..., int]], Callable[..., int]]:
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
