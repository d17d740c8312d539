"""`reconciler verify --signatures`: each commit of a history held against the keys that count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.audit.short_id import short_id
from reconciler.cli.options.option_group import Option, gathered
from reconciler.cli.options.trust import ALLOWED_OPTIONS, allowed_keys
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.git.signatures import Signature

SIGNATURE_OPTIONS: tuple[Option, ...] = (
    click.option("--signatures", is_flag=True, help="Prove who signed each commit, too."),
    *ALLOWED_OPTIONS,
)


@dataclass(frozen=True, slots=True)
class AskedSignatures:
    """Whether signatures are proven, and whose count."""

    signatures: bool
    allowed_signers: Path | None
    allowed_keyring: Path | None

    def read(self, repository: "Repository", revisions: Sequence[str]) -> "list[Signature] | None":
        """Return the signatures of commits, `None` if they are not asked for.

        Raises:
            UsageError: They are, and no keys are named.
        """
        from reconciler.shell.git.signatures import read_signatures

        if not self.signatures:
            return None
        allowed = allowed_keys(self.allowed_signers, self.allowed_keyring)
        if allowed is None:
            raise UsageError("--signatures goes with --allowed-signers or --allowed-keyring")
        return read_signatures(repository, revisions, allowed)


def signature_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options about signatures; the verb gets them as its `asked`."""
    return gathered(function, "asked", AskedSignatures, SIGNATURE_OPTIONS)


def print_signatures(signatures: "Sequence[Signature]") -> None:
    """Print which commits no allowed key has signed, and how many are."""
    from reconciler.audit.printable import printable

    for one in signatures:
        if one.problem:
            glyph = click.style("✘", fg="red")
            click.echo(f"{glyph} {short_id(one.revision)}  {printable(one.problem)}")
    good = sum(not one.problem for one in signatures)
    plural = "s" if len(signatures) != 1 else ""
    click.echo(f"{good} of {len(signatures)} commit{plural} signed by an allowed key")


def signatures_json(signatures: "Sequence[Signature]") -> list[dict[str, str]]:
    """Return what was found, for machines."""
    return [
        {"revision": one.revision, "key": one.key, "problem": one.problem} for one in signatures
    ]
