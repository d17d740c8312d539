"""Selected resources, packed into snapshots of limited size."""

from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.model.body import Body

SIZE_LIMIT = 819_200  # resource_snapshot_resolver.go resourceSnapshotResourceSizeLimit, in bytes


@dataclass(frozen=True, slots=True)
class Resource:
    """A selected resource: what a snapshot says of it, and its JSON, which only counts."""

    entry: Body
    content: str


def split(resources: Sequence[Resource]) -> list[list[Resource]]:
    """Pack resources in order into chunks of limited size; there is one chunk at least.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `SplitSelectedResources`.
    """
    chunks: list[list[Resource]] = [[]]
    size = 0
    for resource in resources:
        length = len(resource.content.encode())
        if chunks[-1] and size + length > SIZE_LIMIT:
            chunks.append([])
            size = 0
        chunks[-1].append(resource)
        size += length
    return chunks
