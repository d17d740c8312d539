"""Secrets of options: in files or the environment, never in arguments, which all can read."""

import os
from pathlib import Path

import click

from reconciler.cli.options.option_group import Option
from reconciler.errors import UsageError

MOST_AT_ONCE = 2  # secrets of webhooks
SHORTEST_SECRET = 16  # characters; forges generate longer ones
LONGEST_SECRET_BYTES = 16 * 1024


def secret_option(name: str, variable: str, says: str) -> Option:
    """Return the option that names the file of a secret; `variable` may hold it instead."""
    return click.option(
        name,
        metavar="FILE",
        envvar=f"{variable}_FILE",
        type=click.Path(path_type=Path),
        help=f"{says}  [or: ${variable}]",
    )


def read_secret(option: str, file: Path | None, variable: str) -> str:
    """Return the secret of a file, or else of the environment, `""` if neither is set.

    Line ends around it do not count.
    """
    if file is None:
        secret, where = os.environ.get(variable, ""), f"${variable}"
        if not secret:
            return ""
    else:
        where = f'{option} "{file}"'
        try:
            with file.open(encoding="utf-8") as stream:
                secret = stream.read(LONGEST_SECRET_BYTES)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"{where} cannot be read: {reason}") from None
    secret = secret.strip("\r\n")
    if len(secret) < SHORTEST_SECRET:
        raise UsageError(f"{where} must hold at least {SHORTEST_SECRET} characters")
    return secret


def read_secrets_of_hooks(option: str, file: Path | None, variable: str) -> str:
    """Return the secrets of webhooks, one a line: two may hold at once, while one is renewed."""
    found = read_secret(option, file, variable)
    lines = [line for line in found.splitlines() if line.strip()]
    if len(lines) > MOST_AT_ONCE:
        raise UsageError(f"{option} must hold at most {MOST_AT_ONCE} secrets, each on its own line")
    if any(len(line.strip()) < SHORTEST_SECRET for line in lines):
        raise UsageError(f"{option} must hold at least {SHORTEST_SECRET} characters on each line")
    return "\n".join(lines)
