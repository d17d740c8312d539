"""What one pass did, for whoever tells it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.core.changes import Outcome
from reconciler.model.world import World
from reconciler.shell.git.checkout.kept_edits import KeptEdit
from reconciler.shell.passes.branch_delivery import BranchDelivered
from reconciler.shell.passes.contest import Contested
from reconciler.shell.passes.trust import RefusedCommit
from reconciler.shell.reading.sources import Heads, Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class PassReport:
    """What one pass did.

    `commit` is `None` where nothing was committed; `now` is the moment of the pass. `waiting` are
    the files of which something is over and stays, since a person is editing them in a checkout.
    `editors` are the outputs whose decision was edited by hand, and who did it. `beside` are the
    other branches that were delivered to, or could not be. `contested` is what is not written for
    now, since others undo it again and again. `heads` is where the branches were that it read,
    as far as they are accepted, and `refused` are the commits that are not. `kept` are the files of
    checkouts that are not as it wrote them, since a person edited them. `mended` says of which
    checkouts the index was mended. It `stands` if it is what an earlier pass decided, that came too
    late. `steps` are what each step of it took, in seconds, all races together.
    """

    world: World
    outcome: Outcome
    now: datetime
    heads: Heads
    commit: str | None
    waiting: frozenset[str] = frozenset()
    races: int = 0
    editors: tuple[tuple[str, str], ...] = ()
    contested: Contested | None = None
    beside: tuple[BranchDelivered, ...] = ()
    refused: tuple[RefusedCommit, ...] = ()
    kept: tuple[KeptEdit, ...] = ()
    mended: tuple[str, ...] = ()
    stands: bool = False
    steps: Mapping[str, float] = field(default_factory=dict)

    @property
    def outputs(self) -> str:
        """Full hex id of the commit that has the outputs now."""
        return self.commit or self.heads.outputs or self.heads.inputs

    @property
    def is_held(self) -> bool:
        """Whether something waits for a person, so that the branch has not all that was decided."""
        return bool(self.waiting or self.refused or self.contested or self.heads.tip)

    @property
    def sources(self) -> Sources:
        """The commits of the world as it left it."""
        return Sources(self.left.inputs, self.outputs)

    @property
    def left(self) -> Heads:
        """Where it left the branches."""
        if self.commit is None:
            return self.heads
        if self.heads.tip is not None:
            return self.heads._replace(outputs=self.commit, tip=self.commit)
        inputs = self.heads.inputs if self.world.apart else self.commit
        return self.heads._replace(inputs=inputs, outputs=self.commit)
