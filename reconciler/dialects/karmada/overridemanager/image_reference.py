"""The text of a container image: registry, repository, and tag or digest."""

from dataclasses import dataclass, replace

from reconciler.errors import UserError

LONGEST_NAME = 255
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|[-]*)[a-z0-9]+)*"
_NAME = rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*"
_TAG = r"[\w][\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*[:][0-9A-Fa-f]{32,}"
_REFERENCE = rf"({_NAME})(?::({_TAG}))?(?:@({_DIGEST}))?"


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image; a tag and a digest never come together."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    def with_tag_or_digest(self, text: str) -> "ImageReference":
        """Return the image with another tag or digest; with what is neither, as it is."""
        if _is(_TAG, text):
            return replace(self, tag=text, digest="")
        if _is(_DIGEST, text):
            return replace(self, tag="", digest=text)
        return self

    def __str__(self) -> str:
        """Return it as a manifest has it."""
        name = f"{self.registry}/{self.repository}" if self.registry else self.repository
        if self.tag:
            return f"{name}:{self.tag}"
        return f"{name}@{self.digest}" if self.digest else name


def parse_image(text: str) -> ImageReference:
    """Return the parts of an image.

    With a tag and a digest the digest is lost.

    Raises:
        UserError: The text is none of an image.

    Source: karmada@f8fdd02 pkg/util/imageparser/parser.go `Parse`, and github.com/distribution/
    reference `Parse`.

    >>> parse_image("ghcr.io/fleet/web:1.2")
    ImageReference(registry='ghcr.io', repository='fleet/web', tag='1.2', digest='')
    """
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  # only where an image is changed

    found = re2.fullmatch(_REFERENCE, text)
    if found is None:
        raise UserError(f"failed to parse image value({text}), error: {_problem(text)}")
    name, tag, digest = found.groups()
    if len(name) > LONGEST_NAME:
        raise UserError(
            f"failed to parse image value({text}), error: "
            f"repository name must not be more than {LONGEST_NAME} characters"
        )
    registry, slash, rest = name.partition("/")
    if slash and ("." in registry or ":" in registry or registry == "localhost"):
        return ImageReference(registry, rest, tag or "", "" if tag else digest or "")
    return ImageReference("", name, tag or "", "" if tag else digest or "")


def _problem(text: str) -> str:
    """Return what is wrong with a text that is no image."""
    if not text:
        return "repository name must have at least one component"
    if _is(_REFERENCE, text.lower()):
        return "repository name must be lowercase"
    return "invalid reference format"


def _is(pattern: str, text: str) -> bool:
    import re2  # noqa: PLC0415  # only where an image is changed

    return re2.fullmatch(pattern, text) is not None
