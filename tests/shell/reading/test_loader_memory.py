"""What a loader keeps: the files of the present commit, and no more however many it has seen."""

import gc
from pathlib import Path

from reconciler.core.inputs.validation import FileValidation
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.builders import deployment, text
from tests.shell.repositories import new_checkout

STATUS = "status/reconciler.yaml"
RECORD = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerStatus
metadata:
  name: reconciler
status:
  version: "%d"
"""


def kept() -> int:
    """How many inspected files there are in this process."""
    gc.collect()
    return sum(isinstance(one, FileValidation) for one in gc.get_objects())


def test_versions_of_the_past_are_forgotten(tmp_path: Path) -> None:
    """Of inputs and of outputs."""
    checkout = new_checkout(tmp_path / "r", {"web.yaml": text(deployment())})
    loader = Loader(
        GitTrees(Repository.open(checkout.folder)), load_schemas(), layout=RepositoryLayout()
    )
    loader.load(checkout.head())
    counts = []
    for number in range(4):
        checkout.commit({"web.yaml": text(deployment(replicas=number)), STATUS: RECORD % number})
        loader.load(checkout.head())
        counts.append(kept())

    assert counts[1:] == counts[1:2] * 3
