"""What is asked of overrides, as questions, and which of them an override answers.

An override names what it changes to the letter, so an object asks for its own name: in the
overrides of its namespace, and in those of the whole fleet, which mean what is in a Namespace by
that one.
"""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.overrider.override import Override, OverrideTarget
from reconciler.dialects.read_index import Question

ANY_OVERRIDE: Question = ("override",)
"""Whether there is any."""


def overrides_read(target: OverrideTarget, *, namespaced: bool) -> Iterator[Question]:
    """Yield what is asked of overrides for an object.

    Args:
        target: The object.
        namespaced: Whether its kind is.
    """
    if namespaced:
        yield _meant(target.namespace, target._replace(namespace=""))
        yield _meant("", OverrideTarget("", "v1", "Namespace", "", target.namespace))
    else:
        yield _meant("", target)


def answered_by(override: Override) -> Iterator[Question]:
    """Yield what an override answers."""
    yield from (_meant(override.namespace, one) for one in override.selectors)


def _meant(namespace: str, target: OverrideTarget) -> Question:
    """Return the question which overrides of a namespace mean an object, `""` for the fleet's."""
    return "override", namespace, target
