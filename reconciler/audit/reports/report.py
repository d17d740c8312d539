"""What a check of files came to, whatever it is shown as."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.audit.findings import Finding

SECRET = "Secret"  # noqa: S105  # a kind, no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsReport:
    """The findings of one run.

    Attributes:
        findings: Sorted by place.
        texts: Path to content of every file that was checked.
        version: Version of the reconciler.
        prefix: What leads from the folder where a pipeline runs to the root that was checked, with
            a slash at its end; `""` if they are the same. Formats that a forge reads put it before
            each path.
        warnings_fail: Whether a warning is as bad as an error for who runs this.
    """

    findings: tuple[Finding, ...]
    texts: Mapping[str, bytes]
    version: str
    prefix: str = ""
    warnings_fail: bool = False

    def path(self, relative: str) -> str:
        """Return a path as the forge knows it; one outside of the root is absolute already."""
        return relative if relative.startswith(("/", "<")) else f"{self.prefix}{relative}"


def is_hidden(finding: Finding, text: str) -> bool:
    """Return whether the line of a finding must not be shown: it may be that of a Secret.

    Of a document that says who it is, the kind decides. Of any other it is unknown: then a file
    that mentions Secrets anywhere is not shown at all.
    """
    kind = finding.fault.subject.partition(".")[0]
    return kind == SECRET if kind else SECRET in text
