"""The placements of a round with their files so far, drawn when they are asked for."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.dialects.ocm.decisions.placement_draft import Draft, draft_of, is_left_alone
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


@dataclass(slots=True, eq=False, kw_only=True)
class Drafts:
    """The placements of a world that was followed; it is filled as it is asked.

    Attributes:
        world: As the round found it.
        memory: Follows placements and their files.
        drawn: Those that were asked for.
        failed: Those of them that cannot be decoded; they keep their files.
    """

    world: World
    memory: OcmMemory
    drawn: dict[ObjectKey, Draft] = field(default_factory=dict)
    failed: dict[ObjectKey, Failed] = field(default_factory=dict)

    def draw(self, keys: Iterable[ObjectKey]) -> None:
        """Draw placements, those of them that are there."""
        for key in keys:
            manifest = self.memory.followed.there.get(key)
            if manifest is not None and key not in self.drawn and key not in self.failed:
                draft = attempt(partial(self._draw, key), partial(place_of, manifest))
                if isinstance(draft, Failed):
                    self.failed[key] = draft
                else:
                    self.drawn[key] = draft

    def find(self, key: ObjectKey) -> Draft | None:
        """Return a placement, `None` if it is not there or cannot be decoded."""
        self.draw([key])
        return self.drawn.get(key)

    def __getitem__(self, key: ObjectKey) -> Draft:
        """Return a placement that is there and can be decoded."""
        if key not in self.drawn:
            self.draw([key])
        return self.drawn[key]

    def _draw(self, key: ObjectKey) -> Draft:
        """Return a placement and its files, the same as before if none of them differs."""
        followed = self.memory.followed
        manifest, decisions = followed.there[key], followed.left.get(key, {})
        present = self.world.outputs.get(key)
        status_file = present.body if present is not None else None
        frozen = is_left_alone(self.world, key)
        cache_key = (manifest.body, status_file, frozen, *decisions.values())
        draw = partial(draft_of, manifest, status_file, decisions, frozen=frozen)
        return self.memory.drafts.recall(key, cache_key, draw)
