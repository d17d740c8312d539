"""Options about keys: who signs what passes write, and whose commits are decided from.

Keys are files and folders of the operator, outside of the repository. `reconciler verify
--signatures` checks each commit of a history against the keys that count.
"""

import os
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import click

from reconciler.cli.options import Option, gathered
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass
from reconciler.model.text import short_id

if TYPE_CHECKING:
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.git.signing import AllowedKeys, Signature, SigningKey
    from reconciler.shell.passes.trust import Trust


FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}|[0-9A-F]{40}(?:[0-9A-F]{24})?")


@dataclass(frozen=True, slots=True)
class SigningOptions:
    """Which key signs; `None` for none."""

    signing_key: str | None
    signing_format: str


@dataclass(frozen=True, slots=True)
class Keys:
    """Which keys sign and which count; `None` and nothing for none."""

    signing: SigningOptions
    allowed_signers: Path | None
    allowed_keyring: Path | None
    trust_from: tuple[str, ...]
    reporters_file: Path | None


ALLOWED_OPTIONS: tuple[Option, ...] = (
    click.option(
        "--allowed-signers",
        metavar="FILE",
        envvar="RECONCILER_ALLOWED_SIGNERS",
        type=click.Path(path_type=Path),
        help="SSH keys whose commits are accepted, in the ALLOWED SIGNERS format of ssh-keygen(1).",
    ),
    click.option(
        "--allowed-keyring",
        metavar="DIR",
        envvar="RECONCILER_ALLOWED_KEYRING",
        type=click.Path(path_type=Path),
        help="gpg home with the OpenPGP keys whose commits are accepted.",
    ),
)

SIGNING_OPTIONS: tuple[Option, ...] = (
    click.option(
        "--signing-key",
        metavar="KEY",
        envvar="RECONCILER_SIGNING_KEY",
        help="Sign commits with this key: the file of an SSH key, or the id of an OpenPGP key.",
    ),
    click.option(
        "--signing-format",
        type=click.Choice(["ssh", "gpg"]),
        envvar="RECONCILER_SIGNING_FORMAT",
        default="ssh",
        show_default=True,
        help="Type of --signing-key; gpg uses $GNUPGHOME.",
    ),
)


def signing_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options about the key that signs; the verb gets them as its `signing`."""
    return gathered(function, "signing", SigningOptions, SIGNING_OPTIONS)


KEY_OPTIONS: tuple[Option, ...] = (
    signing_options,
    *ALLOWED_OPTIONS,
    click.option(
        "--trust-from",
        metavar="COMMIT",
        envvar="RECONCILER_TRUST_FROM",
        multiple=True,
        help="Full id of a commit to trust, with its history (repeatable).",
    ),
    click.option(
        "--reporters-file",
        metavar="FILE",
        envvar="RECONCILER_REPORTERS_FILE",
        type=click.Path(path_type=Path),
        help="Keys that may only report clusters: the fingerprint of an allowed key and the names "
        "of its clusters on each line.",
    ),
)


def key_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options about keys; the verb gets them as its `keys`."""
    return gathered(function, "keys", Keys, KEY_OPTIONS)


def signing_key(signing: SigningOptions) -> "SigningKey | None":
    """Return the key that signs, `None` for none.

    Raises:
        UsageError: It cannot be read.
    """
    from reconciler.shell.git.signing import KeyFormat, SigningKey

    name = signing.signing_key
    if not name:
        return None
    if signing.signing_format == KeyFormat.GPG:
        if name.startswith("-") or not name.isprintable():
            raise UsageError("--signing-key must be the id, fingerprint or address of a key of gpg")
        home = Path(os.environ.get("GNUPGHOME") or "~/.gnupg").expanduser().resolve()
        return SigningKey(format=KeyFormat.GPG, name=name, home=_folder("--signing-format", home))
    file = _file("--signing-key", Path(name))
    return SigningKey(format=KeyFormat.SSH, name=str(file))


def allowed_keys(signers: Path | None, keyring: Path | None) -> "AllowedKeys | None":
    """Return whose commits count, `None` if nothing is said of it.

    Raises:
        UsageError: What is named cannot be read.
    """
    from reconciler.shell.git.signing import AllowedKeys

    if signers is None and keyring is None:
        return None
    return AllowedKeys(
        signers=None if signers is None else _file("--allowed-signers", signers),
        keyring=None if keyring is None else _folder("--allowed-keyring", keyring.resolve()),
    )


def open_trust(
    keys: Keys,
    key: "SigningKey | None",
    repository: "Repository",
    at: datetime,
    *,
    layout: RepositoryLayout,
) -> "Trust | None":
    """Try the key, and return what tells which commits are decided from; `None` for all.

    Args:
        keys: What the operator names.
        key: Who signs, `None` if nobody does.
        repository: Where commits are, and the root that is served.
        at: Moment at which the key is tried.
        layout: Where passes write to.

    Raises:
        UsageError: A key cannot be used, or the options do not go together.
    """
    from reconciler.shell.git.repository import COMMIT_ID
    from reconciler.shell.git.signing import AllowedKeys, read_signatures, tried
    from reconciler.shell.passes.trust import Trust

    allowed = allowed_keys(keys.allowed_signers, keys.allowed_keyring)
    for option, given in (
        ("--trust-from", keys.trust_from),
        ("--reporters-file", keys.reporters_file),
    ):
        if allowed is None and given:
            raise UsageError(f"{option} requires --allowed-signers or --allowed-keyring")
    for anchor in keys.trust_from:
        if not COMMIT_ID.fullmatch(anchor):
            raise UsageError(f"--trust-from must be the full id of a commit, not {anchor[:80]!r}")
    if key is None:
        if allowed is not None:
            raise UsageError(
                "--allowed-signers and --allowed-keyring require --signing-key: commits of passes "
                "must be signed by an allowed key, too"
            )
        return None
    with tried(repository, key, at) as (there, commit):
        [signature] = read_signatures(there, [commit], allowed or AllowedKeys())
    if allowed is None:
        return None
    if signature.problem:
        raise UsageError(
            f'--signing-key "{key.name}" must be one of the allowed keys, but {signature.problem}; '
            "add its public half to --allowed-signers or --allowed-keyring"
        )
    reporters = {} if keys.reporters_file is None else read_reporters(keys.reporters_file)
    if signature.key in reporters:
        raise UsageError("--reporters-file limits the key of --signing-key, which signs decisions")
    return Trust(
        repository,
        layout,
        allowed,
        own=signature.key,
        anchors=keys.trust_from,
        reporters=reporters,
    )


def read_reporters(path: Path) -> dict[str, frozenset[str]]:
    """Return which keys may report some clusters and write nothing else, by fingerprint.

    Raises:
        UsageError: The file cannot be read, or a line names no cluster.
    """
    text = _file("--reporters-file", path).read_text(encoding="utf-8", errors="replace")
    reporters: dict[str, frozenset[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        key, *clusters = words
        if not clusters or not FINGERPRINT.fullmatch(key):
            raise UsageError(
                f'--reporters-file "{path}", line {number}, must be a fingerprint (SHA256:... as '
                "ssh-keygen -l shows it, or that of an OpenPGP key) and names of clusters"
            )
        reporters[key] = reporters.get(key, frozenset()).union(clusters)
    return reporters


def _file(option: str, path: Path) -> Path:
    """Return the full path of a file that can be read."""
    place = path.expanduser().resolve()
    try:
        with place.open("rb"):
            return place
    except OSError as error:
        raise UsageError(f'{option} "{path}" cannot be read: {error.strerror}') from None


def _folder(option: str, path: Path) -> Path:
    """Return the full path of a folder of gpg."""
    if not path.is_dir():
        raise UsageError(f'{option}: "{path}" must be a gpg home, and is not')
    return path


SIGNATURE_OPTIONS: tuple[Option, ...] = (
    click.option("--signatures", is_flag=True, help="Also verify who signed each commit."),
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
        from reconciler.shell.git.signing import read_signatures

        if not self.signatures:
            return None
        allowed = allowed_keys(self.allowed_signers, self.allowed_keyring)
        if allowed is None:
            raise UsageError("--signatures requires --allowed-signers or --allowed-keyring")
        return read_signatures(repository, revisions, allowed)


def signature_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options about signatures; the verb gets them as its `asked`."""
    return gathered(function, "asked", AskedSignatures, SIGNATURE_OPTIONS)


def print_signatures(signatures: "Sequence[Signature]") -> None:
    """Print which commits no allowed key has signed, and how many are."""
    from reconciler.model.text import printable

    for signature in signatures:
        if signature.problem:
            glyph = click.style("✘", fg="red")
            click.echo(f"{glyph} {short_id(signature.revision)}  {printable(signature.problem)}")
    good = sum(not signature.problem for signature in signatures)
    plural = "s" if len(signatures) != 1 else ""
    click.echo(f"{good} of {len(signatures)} commit{plural} signed by an allowed key")


class SignatureJson(TypedDict):
    """Who signed a commit."""

    revision: Annotated[str, "Full hex id of the commit."]
    key: Annotated[str, 'Fingerprint of the key that signed it, `""` if none is known.']
    problem: Annotated[str, 'Why the signature does not count, `""` if it does.']


def signatures_json(signatures: "Sequence[Signature]") -> list[SignatureJson]:
    """Return what was found, for machines."""
    return [
        {"revision": one.revision, "key": one.key, "problem": one.problem} for one in signatures
    ]
