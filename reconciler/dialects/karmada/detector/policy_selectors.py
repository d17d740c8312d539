"""What policies select: an index from a workload to the selectors that may select it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.dialects.karmada.api.policies import Policy, Template
from reconciler.dialects.karmada.detector.selector_index import GroupedSelector, SelectorIndex
from reconciler.dialects.read_index import KeyIndex
from reconciler.model.identity import ObjectKey


class Selectable(NamedTuple):
    """API version, kind and name of workloads, `""` for any name; and the policy's namespace."""

    api_version: str
    kind: str
    name: str
    namespace: str


class PolicySelector(NamedTuple):
    """One selector of a policy, by its position."""

    policy: ObjectKey
    position: int


@dataclass(slots=True, eq=False)
class PolicySelectors:
    """The selectors of all policies; it is changed in place, and costs what changes."""

    _plain: KeyIndex[Selectable, PolicySelector] = field(default_factory=KeyIndex)
    _by_labels: SelectorIndex[Selectable, PolicySelector] = field(default_factory=SelectorIndex)

    def replace(self, gone: Iterable[Policy], came: Iterable[Policy]) -> None:
        """Put the selectors of some policies in the place of those of others."""
        for policy in gone:
            plain, labelled = _by_question(policy)
            for one, question in plain.items():
                self._plain.drop(one, (question,))
            self._by_labels.drop(labelled)
        new: dict[PolicySelector, GroupedSelector[Selectable]] = {}
        for policy in came:
            plain, labelled = _by_question(policy)
            for one, question in plain.items():
                self._plain.put(one, (question,))
            new |= labelled
        self._by_labels.put(new)

    def asked(self, template: Template, namespace: str) -> Iterator[PolicySelector]:
        """Yield the selectors of a namespace's policies of which some may select a workload."""
        kind, name = (template.api_version, template.key.kind), template.key.name
        every = Selectable(*kind, "", namespace)
        yield from self._plain.of(Selectable(*kind, name, namespace))
        yield from self._plain.of(every)
        yield from self._by_labels.selecting(every, template.labels)


def _by_question(
    policy: Policy,
) -> tuple[dict[PolicySelector, Selectable], dict[PolicySelector, GroupedSelector[Selectable]]]:
    """Return the selectors of a policy that give a name or nothing, and those that ask labels."""
    plain: dict[PolicySelector, Selectable] = {}
    labelled: dict[PolicySelector, GroupedSelector[Selectable]] = {}
    for position, one in enumerate(policy.selectors):
        own = PolicySelector(policy.key, position)
        question = Selectable(one.api_version, one.kind, one.name, policy.key.namespace)
        if one.labels is None or one.name:
            plain[own] = question
        else:
            labelled[own] = GroupedSelector(question, one.labels)
    return plain, labelled
