"""The workloads of a repository as selectors of policies and override policies find them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.karmada.api.policies import (
    ResourceSelector,
    Template,
    template_of,
)
from reconciler.manifests.doubtful_selectors import Labelled
from reconciler.manifests.label_index import LabelIndex
from reconciler.manifests.references import Known
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import LabelSelector


@dataclass(frozen=True, slots=True)
class OfKind:
    """The workloads of one API version and kind, by name and by label.

    Attributes:
        by_name: Name to all of that name.
        by_place: Namespace to those in it by their labels; `""` to all of them.
    """

    by_name: Mapping[str, tuple[Template, ...]]
    by_place: Mapping[str, LabelIndex[Template]]

    def candidates(self, policy: ObjectKey, selector: ResourceSelector) -> Iterable[Template]:
        """Return what has the name, or the labels, of a selector; its namespace is to be asked.

        As `closeness` judges: a name makes the labels irrelevant.
        """
        if selector.name:
            return self.by_name.get(selector.name, ())
        return self.at(policy.namespace or selector.namespace, selector.labels)

    def at(self, place: str, labels: LabelSelector | None) -> Iterable[Template]:
        """Return what a label selector selects in a namespace; `""` is anywhere."""
        found = self.by_place.get(place)
        return () if found is None else found.selected(labels)


@dataclass(frozen=True, slots=True)
class Templates:
    """The workloads by API version and kind, and among those by name and label."""

    by_kind: Mapping[tuple[str, str], OfKind]

    @property
    def by_name(self) -> Mapping[tuple[str, str], Mapping[str, tuple[Template, ...]]]:
        """The workloads by API version and kind, and among those by name."""
        return {kind: found.by_name for kind, found in self.by_kind.items()}

    def matching(self, policy: ObjectKey, selector: ResourceSelector) -> Iterator[Template]:
        """Yield what one selector of a policy, or of an override policy, selects."""
        of_kind = self.by_kind.get((selector.api_version, selector.kind))
        for template in () if of_kind is None else of_kind.candidates(policy, selector):
            namespace = template.key.namespace
            if policy.namespace in ("", namespace) and selector.namespace in ("", namespace):
                yield template

    def elsewhere(self, selector: ResourceSelector) -> Iterator[Template]:
        """Yield what a selector would select in any namespace."""
        of_kind = self.by_kind.get((selector.api_version, selector.kind))
        if of_kind is None:
            return
        found = of_kind.by_name.get(selector.name, ()) if selector.name else None
        yield from of_kind.at("", selector.labels) if found is None else found

    def names(self, policy: ObjectKey, selector: ResourceSelector) -> frozenset[str]:
        """Return the names of all of a kind in the namespace of a policy."""
        of_kind = self.by_kind.get((selector.api_version, selector.kind))
        found = () if of_kind is None else of_kind.at(policy.namespace or selector.namespace, None)
        return frozenset(one.key.name for one in found)

    def beside(self, policy: ObjectKey, selector: ResourceSelector) -> Labelled | None:
        """Return all of a kind that a policy could select by labels, `None` if there is nothing."""
        of_kind = self.by_kind.get((selector.api_version, selector.kind))
        if of_kind is None:
            return None
        labels = [one.labels for one in of_kind.at(policy.namespace or selector.namespace, None)]
        return Labelled.of(selector.kind, labels) if labels else None


def index_templates(known: Known) -> Templates:
    """Index the workloads."""
    found: dict[tuple[str, str], dict[str, list[Template]]] = defaultdict(lambda: defaultdict(list))
    for key, manifest in known.world.inputs.items():
        if key.group not in known.world.known.groups:
            template = template_of(manifest)
            found[template.api_version, key.kind][key.name].append(template)
    return Templates({kind: _indexed(by_name) for kind, by_name in found.items()})


def _indexed(by_name: Mapping[str, Sequence[Template]]) -> OfKind:
    """Index the workloads of a kind."""
    by_place: dict[str, list[tuple[Mapping[str, str], Template]]] = defaultdict(list)
    for template in (one for templates in by_name.values() for one in templates):
        for place in {"", template.key.namespace}:
            by_place[place].append((template.labels, template))
    return OfKind(
        {name: tuple(templates) for name, templates in by_name.items()},
        {place: LabelIndex(templates) for place, templates in by_place.items()},
    )
