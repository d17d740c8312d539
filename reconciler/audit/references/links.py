"""Symbolic links where manifests are looked for; they are never followed."""

from collections.abc import Iterable, Iterator

from reconciler.model.world import Fault


def skipped_links(links: Iterable[str]) -> Iterator[Fault]:
    """Yield what is to be said of each link that is skipped.

    Args:
        links: Root-relative paths.
    """
    for link in links:
        yield Fault(
            path=link,
            line=0,
            column=0,
            field="",
            rule="link-skipped",
            message="a symbolic link is never followed, so what it leads to is not read here",
            expected="the manifest itself, or no link",
        )
