"""What KubeFleet's webhook and CEL rules refuse in a MemberCluster."""

from collections.abc import Iterator

from reconciler.errors import UserError
from reconciler.manifests.names import LONGEST_LABEL
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.message_text import shown


def refuse_member(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a cluster: its name, taints, and values that cannot be read.

    Source: kubefleet@e160c1c pkg/utils/validator/membercluster.go `ValidateMemberCluster`.
    """
    # Late, since checking any other kind needs nothing of the fleet.
    from reconciler.dialects.kubefleet.api.clusters import decode_member  # noqa: PLC0415

    try:
        decode_member(body)
    except (UserError, ValueError) as error:
        return (Violation("", "cluster-unreadable", f"a value {error}"),)
    return (
        *_name(text(mapping(body, "metadata"), "name")),
        *_taints(bodies(mapping(body, "spec"), "taints")),
    )


def _name(name: str) -> Iterator[Violation]:
    """Bindings carry the name in a label.

    Source: kubefleet@e160c1c apis/cluster/v1beta1/membercluster_types.go `MemberCluster`, its CEL
    rule.
    """
    if len(name) > LONGEST_LABEL:
        yield Violation(
            "/metadata/name",
            "cluster-name",
            f"the name has {len(name)} characters, it must have at most {LONGEST_LABEL}",
            f"at most {LONGEST_LABEL} characters",
        )


def _taints(taints: tuple[Body, ...]) -> Iterator[Violation]:
    """Taints are of label keys and values, each key, value and effect once."""
    seen = set()
    for position, taint in enumerate(taints):
        at = f"/spec/taints/{position}"
        key, value, effect = (text(taint, name) for name in ("key", "value", "effect"))
        if not is_label_key(key):
            yield Violation(
                f"{at}/key", "cluster-taint-key", f"{shown(key)} must be a label key", "a label key"
            )
        if not is_label_value(value):
            message = f"{shown(value)} must be a label value"
            yield Violation(f"{at}/value", "cluster-taint-value", message, "a label value")
        if (key, value, effect) in seen:
            yield Violation(
                at,
                "cluster-taint-unique",
                f"the taint {shown(key)} with {shown(value)} and {effect} must be written once",
                "one taint for each key, value and effect",
            )
        seen.add((key, value, effect))
