"""An object as its overrides leave it on one cluster."""

import json
from collections.abc import Iterable, Iterator

from reconciler.dialects.kubefleet.overrider.matching import hits
from reconciler.dialects.kubefleet.overrider.override import (
    MemberLabels,
    Override,
    OverrideTarget,
    selects,
)
from reconciler.errors import UserError
from reconciler.manifests.json_patch import apply_patch
from reconciler.manifests.secrets import HIDDEN_IN_CONDITIONS
from reconciler.model.body import Body
from reconciler.model.content import mapping_of
from reconciler.model.message_text import cut

MEMBER = "${MEMBER-CLUSTER-NAME}"
LABEL = "${MEMBER-CLUSTER-LABEL-KEY-"
VARIABLE, END = "${", "}"
SECRET = ("", "Secret")


def apply_overrides(
    manifest: Body,
    target: OverrideTarget,
    overrides: Iterable[Override],
    member: MemberLabels,
    *,
    namespaced: bool,
) -> Body | None:
    """Return an object as a cluster gets it, `None` if it does not go there.

    Every rule that is for the cluster applies, not only the first one; an object that one of them
    deletes stays away, whatever later ones say.

    Args:
        manifest: The object.
        target: As overrides name it, whatever they make of its name.
        overrides: Those that concern the cluster, in their order.
        member: The cluster.
        namespaced: Whether it is of a namespaced kind.

    Raises:
        UserError: One of them does not fit.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/override.go `applyOverrides`,
    `applyOverrideRules`.
    """
    found: Body | None = manifest
    for override in overrides:
        for _ in range(hits(override, target, namespaced=namespaced)):
            try:
                hidden = (target.group, target.kind) == SECRET
                found = _overridden(found, override, member, hidden=hidden)
            except UserError as error:
                raise UserError(_failure(override, target, error.message, namespaced)) from error
    return found


def _failure(override: Override, target: OverrideTarget, cause: str, namespaced: bool) -> str:  # noqa: FBT001  # of the object
    scope = "ResourceOverrideSnapshot" if override.namespace else "ClusterResourceOverrideSnapshot"
    place = f' in namespace "{target.namespace}"' if namespaced else ""
    named = f'{target.kind} "{target.name}"{place}'
    return f'{scope} "{override.snapshot}" failed to apply on {named}: {cause}'


def _overridden(
    manifest: Body | None, override: Override, member: MemberLabels, *, hidden: bool
) -> Body | None:
    """Return an object as one override leaves it."""
    for rule in override.rules or ():
        if not selects(rule, member):
            continue
        if rule.deletes:
            return None
        patches = [with_variables(patch, member, hidden=hidden) for patch in rule.patches]
        if manifest is not None:
            manifest = mapping_of(apply_patch(manifest, patches))
    return manifest


def with_variables(patch: Body, member: MemberLabels, *, hidden: bool = False) -> Body:
    """Return a patch with the name and the labels of a cluster in the place of variables.

    They are replaced in the JSON of the value alone, the name first; the leftmost label ends at
    the next brace, so that the name may be part of a key.

    Args:
        patch: Of a rule.
        member: The cluster.
        hidden: Whether the value is one of a Secret, of which no message has anything.

    Raises:
        UserError: The cluster has no such label, or nothing closes a variable.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/override.go
    `replaceClusterLabelKeyVariables`.
    """
    written = json.dumps(patch.get("value"), ensure_ascii=False, separators=(",", ":"))
    if VARIABLE not in written:
        return patch
    filled = "".join(_filled(written.replace(MEMBER, member.name), member, hidden=hidden))
    try:
        return {**patch, "value": json.loads(filled)}
    except ValueError:
        told = HIDDEN_IN_CONDITIONS if hidden else cut(filled)
        raise UserError(f"the value {told} is no JSON once its variables are replaced") from None


def _filled(written: str, member: MemberLabels, *, hidden: bool) -> Iterator[str]:
    """Yield a text piece by piece, labels in the place of their variables."""
    rest, start = 0, written.find(LABEL)
    while start >= 0:
        end = written.find(END, start)
        if end < 0:
            # Unlike upstream: of a Secret the input is hidden.
            told = HIDDEN_IN_CONDITIONS if hidden else written[rest:]
            raise UserError(f"input {told} is missing the closing bracket `}}`")
        key = written[start + len(LABEL) : end]
        if key not in member.labels:
            told = HIDDEN_IN_CONDITIONS if hidden else key
            raise UserError(f"label key {told} not found on cluster {member.name}")
        yield written[rest:start]
        yield member.labels[key]
        rest = end + 1
        start = written.find(LABEL, rest)
    yield written[rest:]
