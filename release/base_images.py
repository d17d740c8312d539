"""Writes the digests of base images into deploy/Dockerfile: `make pin`."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import httpx

DOCKERFILE = Path(__file__).parent.parent / "deploy/Dockerfile"
FROM = re.compile(
    r"^FROM (?P<image>[a-z0-9./-]+):(?P<tag>[\w.-]+)(?:@sha256:[0-9a-f]{64})?", re.MULTILINE
)
REGISTRY = "https://registry-1.docker.io"
TOKENS = "https://auth.docker.io/token?service=registry.docker.io"
ACCEPTED = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def pinned(dockerfile: str, digest_of: Callable[[str, str], str]) -> str:
    """Return a Dockerfile in which each base image has the digest that its tag has now.

    Args:
        dockerfile: With or without digests.
        digest_of: Answers for an image and a tag with `sha256:...`.
    """

    def named(found: re.Match[str]) -> str:
        image, tag = found["image"], found["tag"]
        return f"FROM {image}:{tag}@{digest_of(image, tag)}"

    return FROM.sub(named, dockerfile)


def digest_at(image: str, tag: str, *, registry: str = REGISTRY, tokens: str = TOKENS) -> str:
    """Ask a registry for the digest of an image of all platforms.

    Raises:
        httpx.HTTPError: It cannot be reached, or does not have it.
        ValueError: It answers without a digest.
    """
    path = image if "/" in image else f"library/{image}"
    with httpx.Client(timeout=30, follow_redirects=True) as client:
        given = client.get(f"{tokens}&scope=repository:{path}:pull").raise_for_status().json()
        answer = client.head(
            f"{registry}/v2/{path}/manifests/{tag}",
            headers={"Authorization": f"Bearer {given['token']}", "Accept": ", ".join(ACCEPTED)},
        ).raise_for_status()
    digest = str(answer.headers.get("Docker-Content-Digest", ""))
    if not DIGEST.fullmatch(digest):
        raise ValueError(f"{registry} answers for {image}:{tag} without a digest")
    return digest


def main() -> int:
    """Pin the base images; return 1 if the registry cannot be asked."""
    try:
        text = pinned(DOCKERFILE.read_text(encoding="utf-8"), digest_at)
    except (httpx.HTTPError, ValueError) as error:
        print(f"no digest was written: {error}", file=sys.stderr)
        return 1
    DOCKERFILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
