"""A loopback Flux: it applies the folder of each cluster, prunes, and keeps to its annotations.

Source: fluxcd/kustomize-controller docs/spec/v1/kustomizations.md: `prune: disabled` counts on the
live object, `ssa: IfNotPresent` in the manifest; a field that was applied before and is not any
more goes from the object, as server-side apply has it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from reconciler.manifests.text.reader import read
from tests.builders import Body, text
from tests.stories import Story

PRUNE, APPLY = (f"kustomize.toolkit.fluxcd.io/{name}" for name in ("prune", "ssa"))
Name = tuple[str, str, str]


@dataclass
class Member:
    """One cluster: what is live, and what Flux applied last."""

    live: dict[Name, Body] = field(default_factory=dict)
    applied: dict[Name, Body] = field(default_factory=dict)


@dataclass
class Flux:
    """All clusters, by name."""

    members: dict[str, Member] = field(default_factory=dict)

    def sync(self, told: Story) -> None:
        """Bring what the folders hold to the clusters, and prune what they hold no more."""
        for name in {path.split("/")[1] for path in told.files if path.startswith("delivery/")}:
            member = self.members.setdefault(name, Member())
            wanted = dict(_manifests(told, name))
            for key, manifest in wanted.items():
                _apply(member, key, manifest)
            for key in member.applied.keys() - wanted.keys():
                if annotations_of(member.live.get(key, {})).get(PRUNE) != "disabled":
                    member.live.pop(key, None)
                del member.applied[key]

    def report(self, told: Story, cluster: str, key: Name) -> None:
        """Let a cluster report an object with what keeps it there, as an import writes it."""
        live = self.members[cluster].live[key]
        metadata = {**cast(Body, live["metadata"])}
        told.files[f"feedback/{cluster}/{key[2]}.yaml"] = text(
            {
                "apiVersion": live["apiVersion"],
                "kind": live["kind"],
                "metadata": {
                    "name": metadata["name"],
                    "namespace": metadata["namespace"],
                    "annotations": {PRUNE: annotations_of(live).get(PRUNE, "enabled")},
                },
                "status": {},
            }
        )


def annotations_of(body: Body) -> Mapping[str, str]:
    """The annotations of an object."""
    metadata = cast(Mapping[str, object], body.get("metadata", {}))
    return cast(Mapping[str, str], metadata.get("annotations", {}))


def _manifests(told: Story, cluster: str) -> Iterator[tuple[Name, Body]]:
    """The objects that the kustomization of a cluster names."""
    folder = f"delivery/{cluster}"
    for path in sorted(told.files):
        if path.startswith(f"{folder}/") and not path.endswith("kustomization.yaml"):
            assert path.removeprefix(f"{folder}/") in told.files[f"{folder}/kustomization.yaml"]
            (document,) = read(told.files[path].encode(), path).documents
            metadata = cast(Mapping[str, str], document.body["metadata"])
            kind = str(document.body["kind"])
            yield (kind, metadata.get("namespace", ""), metadata["name"]), document.body


def _apply(member: Member, key: Name, manifest: Body) -> None:
    """Apply one object; its replicas default to one, as an API server has it."""
    before = member.applied.get(key)
    member.applied[key] = manifest
    if key in member.live and annotations_of(manifest).get(APPLY) == "IfNotPresent":
        return
    own = dict(cast(Mapping[str, object], manifest.get("spec", {})))
    if key[0] == "Deployment" and "replicas" not in own:
        live = cast(Mapping[str, object], member.live.get(key, {}).get("spec", {}))
        owned = before is not None and "replicas" in cast(Body, before["spec"])
        own["replicas"] = 1 if owned else live.get("replicas", 1)
    member.live[key] = {**manifest, "spec": own} if own else manifest
