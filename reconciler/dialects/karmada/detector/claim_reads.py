"""What the claim of one workload may look at; what it asks of others is recorded.

Its own are the workload and the binding of its name. Of policies it asks those that select any
workload of its kind; one that selects its name is told by that, and one that holds its binding
counts only as long as it selects it.
"""

from reconciler.dialects.karmada.api.policies import Policy, ResourceSelector, Template
from reconciler.dialects.karmada.detector.policy_match import Policies
from reconciler.dialects.object_boundary import Failed, FaultPlace, place_of
from reconciler.dialects.read_index import Question
from reconciler.manifests.paths import is_frozen
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World


def of_kind(api_version: str, kind: str, namespace: str) -> Question:
    """Return the question of the policies of a namespace, `""` for all, that select a kind."""
    return "policies", api_version, kind, namespace


def asked_by(selector: ResourceSelector, policy: ObjectKey) -> Question:
    """Return the question to which a selector belongs that gives no name."""
    return of_kind(selector.api_version, selector.kind, policy.namespace)


class ClaimReads:
    """The documents and policies of a round, as the claim of one workload asks for them.

    Attributes:
        key: Of the workload.
        reads: What was asked of others.
    """

    def __init__(self, key: ObjectKey, world: World, policies: Policies) -> None:
        """Begin with no question asked."""
        self.key, self.reads = key, set[Question]()
        self._world, self._policies = world, policies

    @property
    def workload(self) -> Manifest | None:
        """The workload, `None` if there is none that could be propagated."""
        return None if self.key.group in self._world.known.groups else self._own

    @property
    def place(self) -> FaultPlace:
        """Where a fault of the workload stands."""
        return place_of(self._world.inputs[self.key])

    def binding(self, key: ObjectKey) -> Body | None:
        """Return its binding, `None` if there is none."""
        output = self._world.outputs.get(key)
        return None if output is None else output.body

    def is_frozen(self, key: ObjectKey) -> bool:
        """Return whether its binding cannot be read."""
        return is_frozen(self._world, key)

    def failed_policy(self, held: ObjectKey | None) -> Failed | None:
        """Return why the policy that holds its binding cannot be decoded, `None` if it can."""
        return None if held is None else self._policies.failed.get(held)

    def claim(
        self, template: Template, held: ObjectKey | None, *, preempting: bool
    ) -> Policy | None:
        """Return the policy that it belongs to; see `Policies.claim`."""
        for namespace in {template.key.namespace, ""}:
            self.reads.add(of_kind(template.api_version, template.key.kind, namespace))
        return self._policies.claim(template, held, preempting=preempting)

    def path(self, key: ObjectKey) -> str:
        """Return the path of the workload, or of the policy that claims it."""
        return self._world.inputs[key].origin.path

    @property
    def _own(self) -> Manifest | None:
        return self._world.inputs.get(self.key)
