"""What production contains or leaves out is let out, or done all the same, in every test."""

from typing import NoReturn

from reconciler.dialects import object_pass
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.karmada.decide import decide
from reconciler.dialects.karmada.plan import DraftedBindings
from reconciler.dialects.object_pass import FaultPlace, Part
from reconciler.model.body import keep_present
from reconciler.model.identity import ObjectKey

CONTAIN = object_pass.unforeseen
DECIDE = DraftedBindings.decide


def enforce() -> None:
    """Let every exception that nobody foresaw out, and decide created bindings again, here."""
    object_pass.unforeseen = _fail
    DraftedBindings.decide = _decide_again  # type: ignore[method-assign]  # in tests


def _fail(error: Exception, place: FaultPlace) -> NoReturn:
    error.add_note(f"while {place.subject or 'the file'} of {place.path} was dealt with")
    raise error


def _decide_again(
    bindings: DraftedBindings, key: ObjectKey, demand: RescheduleTrigger | None, /
) -> Part:
    """Decide a binding that a round created, and hold what is known of it to that."""
    draft = bindings.drafts[key]
    known = None if demand is not None else bindings.created.find(draft)
    if known is not None:
        found = decide(draft, None, bindings.around)
        outputs = {key: keep_present(found.outputs[key], draft.present)}
        assert known == found._replace(outputs=outputs, explain=None), f"{key} was decided again"
    return DECIDE(bindings, key, demand)
