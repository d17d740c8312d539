"""What production contains or leaves out is let out, or done all the same, in every test."""

from collections.abc import Callable, Mapping
from typing import NoReturn

from reconciler.dialects import object_pass
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.karmada.api.policy import Policy, Template
from reconciler.dialects.karmada.api.workload import BUILT_IN, CustomKinds
from reconciler.dialects.karmada.decide import decide
from reconciler.dialects.karmada.detector import detect
from reconciler.dialects.karmada.detector.binding_draft import Draft, draft_binding
from reconciler.dialects.karmada.plan import AlikeBindings, DraftedBindings
from reconciler.dialects.object_pass import FaultPlace, Part
from reconciler.dialects.ocm.decide import decide as decide_placement
from reconciler.dialects.ocm.plan import PlacementsInTurn
from reconciler.model.body import Body, keep_present
from reconciler.model.identity import ObjectKey

CONTAIN = object_pass.unforeseen
DECIDE = DraftedBindings.decide
DRAFT = draft_binding
DECIDE_ALIKE = AlikeBindings.decide
DECIDE_PLACEMENT = PlacementsInTurn.decide


def enforce() -> None:
    """Let every exception that nobody foresaw out, and decide each object by itself, here."""
    object_pass.unforeseen = _fail
    DraftedBindings.decide = _decide_again  # type: ignore[method-assign]  # in tests
    vars(detect)["draft_binding"] = _draft_anew
    AlikeBindings.decide = _decide_alike  # type: ignore[method-assign]  # in tests
    PlacementsInTurn.decide = _decide_placement_again  # type: ignore[method-assign]  # in tests


def _fail(error: Exception, place: FaultPlace) -> NoReturn:
    error.add_note(f"while {place.subject or 'the file'} of {place.path} was dealt with")
    raise error


def _decide_again(
    bindings: DraftedBindings, key: ObjectKey, demand: RescheduleTrigger | None, /
) -> Part:
    """Decide a binding that a round created, and hold what is known of it to that."""
    draft, present = bindings.drafts[key], bindings.present(key)
    known = None if demand is not None else bindings.created.find(key, present, draft.policy)
    if known is not None:
        _hold(known, decide(draft, None, bindings.around), present)
    return DECIDE(bindings, key, demand)


def _draft_anew(
    template: Template,
    policy: Policy | None,
    present: Body | None,
    priority_classes: Mapping[str, int],
    custom_kinds: CustomKinds = BUILT_IN,
    before: Draft | None = None,
) -> Draft:
    """Draft a binding from nothing, too, and hold what is known of it to that."""
    under = template, policy, present, priority_classes, custom_kinds
    draft = DRAFT(*under, before)
    assert draft == DRAFT(*under), draft.key
    return draft


def _decide_alike(self: AlikeBindings, draft: Draft, decide: Callable[[], Part]) -> Part:
    """Hold what a binding that is alike says of one to what that is decided by itself."""
    found: list[Part] = []

    def noted() -> Part:
        found.append(decide())
        return found[-1]

    part = DECIDE_ALIKE(self, draft, noted)
    if not found:
        alone = noted()
        told = [one.decision and one.decision.cause.sources for one in (part, alone)]
        assert part._replace(explain=None) == alone._replace(explain=None), draft.key
        assert told[0] == told[1], draft.key
    return part


def _decide_placement_again(
    placements: PlacementsInTurn, key: ObjectKey, demand: RescheduleTrigger | None, /
) -> Part:
    """Decide a placement that a round created, and hold what is known of it to that."""
    draft, memory = placements.drafts[key], placements.drafts.memory
    known = None
    if demand is None:
        known = memory.created.find(key, draft.files, draft.manifest)
    if known is not None:
        found = decide_placement(draft, None, memory.standing, placements.around)
        _hold(known, found.part, draft.files)
    return DECIDE_PLACEMENT(placements, key, demand)


def _hold(known: Part, found: Part, present: Mapping[ObjectKey, Body]) -> None:
    """Hold what is known of an object that was created to what it is decided now."""
    outputs = {key: keep_present(body, present.get(key)) for key, body in found.outputs.items()}
    assert known == found._replace(outputs=outputs, explain=None, again=None), [*present]
