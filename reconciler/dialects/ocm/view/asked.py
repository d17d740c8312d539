"""What sets ask not to happen to objects on clusters, as it is written."""

from collections.abc import Iterator

from reconciler.dialects.ocm.api.work_admission import TEMPLATE
from reconciler.dialects.ocm.manifestworkreplicaset.asked import asked_by_template
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import GROUP, KIND
from reconciler.dialects.renderer import Instructed
from reconciler.manifests.references import Known
from reconciler.model.fields import mapping


def instructed_by_sets(known: Known) -> Iterator[Instructed]:
    """Yield what the templates of sets ask."""
    for manifest in known.of_kind(GROUP, KIND):
        template = mapping(mapping(manifest.body, "spec"), "manifestWorkTemplate")
        for pointer, instruction in asked_by_template(template):
            yield Instructed(manifest.key, f"{TEMPLATE}{pointer}", instruction)
