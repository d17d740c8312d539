"""What clusters report: each must be one that is there."""

from collections.abc import Iterator

from reconciler.core.dialects import CLUSTERS
from reconciler.manifests.feedback import FEEDBACK
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.identity import ObjectKey
from reconciler.model.message_text import shown


def dangling_in_feedback(known: Known) -> Iterator[Dangling]:
    """Yield the first document of each folder of reports whose cluster is not declared."""
    clusters = frozenset().union(*(known.names(group, kind) for group, kind in CLUSTERS))
    first: dict[str, ObjectKey] = {}
    for key, manifest in sorted(known.world.feedback.items(), key=lambda item: item[1].origin):
        if manifest.key.reporter not in clusters:
            first.setdefault(key.reporter, key)
    for reporter, key in first.items():
        yield Dangling(
            key,
            "",
            "feedback-cluster-unknown",
            f"no cluster is named {shown(reporter)}, so what stands below "
            f"{FEEDBACK}/{reporter}/ is not read",
            proposal(reporter, clusters, "cluster"),
        )
