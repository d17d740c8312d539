"""How large, deep and numerous documents may be; the repository is untrusted input."""

from dataclasses import dataclass

MAX_BYTES = 1 << 20  # ours: Kubernetes refuses objects above 1.5 MiB, etcd's limit
MAX_READ_BYTES = 16 << 20  # ours: a larger file is not even looked into
MAX_DEPTH = 64  # ours: real manifests stay below 20
MAX_NODES = 100_000  # ours: nodes of one document with its aliases written out
MAX_DOCUMENTS = 1000  # ours: documents of one file
MAX_REPORTS = 20  # ours: faults of one document, so that no report is endless
MAX_VIOLATIONS = 1000  # ours: what a schema finds wrong in one document, so that it ends soon
MAX_DIGITS = 100  # ours: int() is quadratic in the number of digits
SKIM_DEPTH = 1000  # ours: nesting at which the rest of a file is not even skimmed


@dataclass(frozen=True, slots=True)
class Oversized:
    """Stands in for the content of a file that is larger than the limit."""

    size_bytes: int
