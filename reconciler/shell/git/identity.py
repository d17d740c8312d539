"""Who wrote a commit."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommitIdentity:
    """Name and address of an author, as git shows them."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


def check_identity(identity: CommitIdentity) -> CommitIdentity:
    """Return `identity` if git can store it as it is.

    Raises:
        ValueError: A part is empty, or has an angle bracket or a control character.
    """
    for part in (identity.name, identity.email):
        if not part.strip() or any(char in "<>" or not char.isprintable() for char in part):
            raise ValueError(f"{part!r} must be printable text without angle brackets")
    return identity
