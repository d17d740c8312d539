"""What Karmada never propagates, and which Namespaces go to every cluster by themselves.

Whatever a policy selects, Karmada's own APIs and some namespaces stay out. A Namespace goes to
every cluster before anything is propagated into it. The configuration has options for both, and for
how workloads get their bindings.
"""

from collections.abc import Mapping
from functools import lru_cache

from reconciler.dialects.karmada.api.names import EXECUTION, may_preempt
from reconciler.dialects.karmada.api.policy import Template
from reconciler.dialects.karmada.api.workload import BUILT_IN, CustomKinds, decode_custom_kinds
from reconciler.errors import Misconfigured
from reconciler.model.body import Body
from reconciler.model.fields import mapping, strings, text
from reconciler.model.identity import group_of
from reconciler.model.records import dataclass, field
from reconciler.model.settings import CONFIGURATION_PATH, Settings

GROUPS = frozenset(
    f"{name}.karmada.io"
    for name in (
        "apps",
        "autoscaling",
        "cluster",
        "config",
        "networking",
        "policy",
        "remedy",
        "work",
    )
) | {"events.k8s.io"}
VERSIONS = frozenset({"coordination.k8s.io/v1"})
KINDS = frozenset({("v1", "Event")})
NAMESPACES = ("kube-.*",)
RESERVED = frozenset({"karmada-system", "karmada-cluster"})
AUTHENTICATION = ("v1", "ConfigMap", "kube-system", "extension-apiserver-authentication")


@dataclass(frozen=True, slots=True)
class SkippedApis:
    """APIs that are not watched: groups, versions as `group/version`, and kinds of a version."""

    groups: frozenset[str] = GROUPS
    versions: frozenset[str] = VERSIONS
    kinds: frozenset[tuple[str, str]] = KINDS

    def skips(self, api_version: str, kind: str) -> bool:
        """Return whether objects of this kind are not watched."""
        return (
            group_of(api_version) in self.groups
            or api_version in self.versions
            or (api_version, kind) in self.kinds
        )


@lru_cache(maxsize=16)
def skipped_apis(flag: str) -> SkippedApis:
    """Return the APIs that are not watched by default, and those of a flag.

    Args:
        flag: Entries separated by `;`: a group, `group/version`, or `group/version/Kind,Kind`; of
            the core group `v1/Kind,Kind`.

    Raises:
        Misconfigured: An entry has more than two slashes.

    Source: karmada@f8fdd02 pkg/util/apigroup.go `SkippedResourceConfig.Parse`. An empty entry is
    the core group, and what begins with `v1` is of it, as upstream has it.
    """
    groups, versions, kinds = set(GROUPS), set(VERSIONS), set(KINDS)
    for entry in flag.split(";") if flag else ():
        match entry.count("/"):
            case 0:
                groups.add(entry)
            case 1 if entry.startswith("v1"):
                kinds.update(("v1", part.rpartition("/")[2]) for part in entry.split(","))
            case 1:
                versions.add(entry)
            case 2:
                version, _, named = entry.rpartition("/")
                kinds.update((version.removeprefix("/"), kind) for kind in named.split(","))
            case _:
                raise Misconfigured(
                    f"`{entry}` must be a group, group/version, or group/version/Kind,Kind",
                    path=CONFIGURATION_PATH,
                    field="/spec/karmada/skippedPropagatingAPIs",
                )
    return SkippedApis(frozenset(groups), frozenset(versions), frozenset(kinds))


@dataclass(frozen=True, slots=True)
class Propagation:
    """What is propagated: `apis` and `namespaces` say what is not, the latter as RE2 patterns."""

    apis: SkippedApis = field(default_factory=SkippedApis)
    namespaces: tuple[str, ...] = NAMESPACES

    def allows(self, template: Template) -> bool:
        """Return whether a policy is looked up for a workload.

        Source: karmada@f8fdd02 pkg/detector/detector.go `EventFilter`, `discoverResources`.
        """
        return not self.apis.skips(template.api_version, template.key.kind) and self.passes(
            template.api_version, template.key.kind, template.key.namespace, template.key.name
        )

    def passes(self, api_version: str, kind: str, namespace: str, name: str) -> bool:
        """Return whether an object of an API that is watched is looked at.

        Source: karmada@f8fdd02 pkg/detector/detector.go `EventFilter`.
        """
        if not api_version or not kind or not self.has_namespace(namespace):
            return False
        return (api_version, kind, namespace, name) != AUTHENTICATION

    def has_namespace(self, namespace: str) -> bool:
        """Return whether a namespace is neither reserved nor skipped."""
        if namespace in RESERVED or namespace.startswith(EXECUTION):
            return False
        return not any(_is_hit(pattern, namespace) for pattern in self.namespaces)


BY_DEFAULT = Propagation()


def decode_propagation(settings: Settings) -> Propagation:
    """Return what the configuration lets Karmada propagate.

    Source: karmada@f8fdd02 cmd/controller-manager/app/options `--skipped-propagating-apis`, which
    adds to the defaults, and `--skipped-propagating-namespaces`, which replaces them.
    """
    options: Mapping[str, object] = settings.options.get("karmada", {})
    named = "skippedPropagatingNamespaces" in options
    if not named and not text(options, "skippedPropagatingAPIs"):
        return BY_DEFAULT
    namespaces = strings(options, "skippedPropagatingNamespaces") if named else NAMESPACES
    return Propagation(skipped_apis(text(options, "skippedPropagatingAPIs")), namespaces)


@lru_cache(maxsize=4096)
def _is_hit(pattern: str, namespace: str) -> bool:
    """Return whether a namespace is skipped by a pattern, `^` before it and `$` behind it.

    RE2, as upstream: a pattern comes from the repository, and must not take for ever.
    """
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  # only where something is placed

    return bool(re2.search(f"^{pattern}$", namespace))


SKIP = "namespace.karmada.io/skip-auto-propagation"
DEFAULT = "default"


def is_synced(namespace: Body, propagation: Propagation) -> bool:
    """Return whether a Namespace goes to every cluster, ready or not, tainted or not.

    Not those that every cluster has (`default`), that Karmada reserves, that are skipped or being
    deleted, or that a label says stay here.

    Source: karmada@f8fdd02 pkg/controllers/namespace/namespace_sync_controller.go `Reconcile`,
    `namespaceShouldBeSynced`.
    """
    metadata = mapping(namespace, "metadata")
    name, labels = str(metadata.get("name", "")), mapping(metadata, "labels")
    if metadata.get("deletionTimestamp") or str(labels.get(SKIP, "")).lower() == "true":
        return False
    return name != DEFAULT and propagation.has_namespace(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorOptions:
    """Options of the detector.

    Attributes:
        propagation: Which workloads a policy may claim at all.
        custom_kinds: Where custom kinds keep their replicas.
        preempting: Whether policies may take workloads over.
    """

    propagation: Propagation = BY_DEFAULT
    custom_kinds: CustomKinds = BUILT_IN
    preempting: bool = False


def decode_detector_options(settings: Settings) -> DetectorOptions:
    """Return the options, with defaults for what is absent.

    Raises:
        Misconfigured: See `decode_propagation`.
    """
    return DetectorOptions(
        propagation=decode_propagation(settings),
        custom_kinds=decode_custom_kinds(settings),
        preempting=may_preempt(settings),
    )
