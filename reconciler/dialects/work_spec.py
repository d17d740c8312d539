"""Objects that carry manifests as the Works of SIG Multicluster do, which APIs took over."""

from collections.abc import Sequence

from reconciler.model.body import Body
from reconciler.model.content import at


def fill_work(work: Body, manifests: Sequence[Body]) -> Body:
    """Return a Work with manifests in it, and without what its metadata leaves open.

    >>> fill_work({"metadata": {"name": "a", "labels": None}}, [{"kind": "Pod"}])
    {'metadata': {'name': 'a'}, 'spec': {'workload': {'manifests': [{'kind': 'Pod'}]}}}
    """
    spec = at(work, "spec")
    workload = {**at(spec, "workload"), "manifests": manifests}
    metadata = {name: one for name, one in at(work, "metadata").items() if one is not None}
    return {**work, "metadata": metadata, "spec": {**spec, "workload": workload}}
