"""What templates of ManifestWorks ask not to happen to objects on clusters."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import manifests_of
from reconciler.dialects.renderer import Instruction, Instructions
from reconciler.manifests.paths import plural_of
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, flag_or_none, mapping, text
from reconciler.model.identity import ObjectKey, group_of

ORPHANS = frozenset({"Orphan", "SelectivelyOrphan"})
STRATEGIES = {
    "CreateOnly": Instruction.CREATE_ONLY,
    "ReadOnly": Instruction.READ_ONLY,
}
Resource = tuple[str, str, str, str]
"""Group, plural, namespace and name, as a template names an object."""


def asked_by_template(template: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what a template asks as it is written, each with its JSON pointer in it.

    Source: ocm@00f84c3 open-cluster-management.io/api work/v1/types.go `ManifestWorkSpec`.
    """
    if mapping(template, "executor"):
        yield "/executor", Instruction.EXECUTOR
    if text(mapping(template, "deleteOption"), "propagationPolicy") in ORPHANS:
        yield "/deleteOption/propagationPolicy", Instruction.ORPHAN
    for n, config in enumerate(bodies(template, "manifestConfigs")):
        for pointer, instruction in _asked_by_strategy(mapping(config, "updateStrategy")):
            yield f"/manifestConfigs/{n}/updateStrategy{pointer}", instruction


def _asked_by_strategy(strategy: Body) -> Iterator[tuple[str, Instruction]]:
    kind = text(strategy, "type")
    if kind in STRATEGIES:
        yield "/type", STRATEGIES[kind]
    if kind != "ServerSideApply":
        return
    apply = mapping(strategy, "serverSideApply")
    if bodies(apply, "ignoreFields"):
        yield "/serverSideApply/ignoreFields", Instruction.IGNORED_FIELDS
    if flag_or_none(apply, "force") is not True:
        yield "/type", Instruction.UNFORCED


def asked_of_objects(template: Body, sources: Sequence[ObjectKey]) -> Instructions:
    """Return what is asked of each object of a template, none of those of which nothing is.

    Args:
        template: With its manifests.
        sources: Who these are, in their order.
    """
    found: defaultdict[ObjectKey, set[Instruction]] = defaultdict(set)
    named = {
        _resource(manifest): source
        for source, manifest in zip(sources, manifests_of(template), strict=False)
    }
    for config in bodies(template, "manifestConfigs"):
        source = named.get(_identifier(mapping(config, "resourceIdentifier")))
        if source is not None:
            strategy = mapping(config, "updateStrategy")
            found[source].update(one for _, one in _asked_by_strategy(strategy))
    for source in orphans(template, sources):
        found[source].add(Instruction.ORPHAN)
    if mapping(template, "executor"):
        for source in sources:
            found[source].add(Instruction.EXECUTOR)
    return {source: frozenset(asked) for source, asked in found.items() if asked}


def orphans(template: Body, sources: Sequence[ObjectKey]) -> tuple[ObjectKey, ...]:
    """Return the objects of a template that are to outlive it."""
    option = mapping(template, "deleteOption")
    policy = text(option, "propagationPolicy")
    if policy not in ORPHANS:
        return ()
    if policy == "Orphan":
        return tuple(sources)
    rules = bodies(mapping(option, "selectivelyOrphans"), "orphaningRules")
    meant = {_identifier(rule) for rule in rules}
    pairs = zip(sources, manifests_of(template), strict=False)
    return tuple(source for source, manifest in pairs if _resource(manifest) in meant)


def _identifier(body: Body) -> Resource:
    return text(body, "group"), text(body, "resource"), text(body, "namespace"), text(body, "name")


def _resource(manifest: Body) -> Resource:
    metadata, kind = at(manifest, "metadata"), text(manifest, "kind")
    group = group_of(text(manifest, "apiVersion"))
    return group, plural_of(kind), text(metadata, "namespace"), text(metadata, "name")
