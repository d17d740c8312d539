"""What a daemon does between passes, a little at a time."""

from pathlib import Path

import pytest

from reconciler.shell.passes import one_pass
from tests.shell.fleet import Clock, new_fleet, new_passes


def test_memory_goes_back_once_nothing_more_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as documents are still to be written, that comes first."""
    left, given = iter([True, True, False]), []
    passes = new_passes(new_fleet(tmp_path / "fleet").folder, Clock())
    passes.run()
    monkeypatch.setattr(
        type(passes.loader), "keep_documents", lambda _, pieces: pieces > 0 and next(left)
    )
    monkeypatch.setattr(one_pass, "give_back", lambda: given.append(True))

    assert [(True, 0), (True, 0), (False, 1)] == [(passes.rest(), len(given)) for _ in range(3)]
