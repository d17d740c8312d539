"""What a world knows of the inputs that differ from those of the last pass."""

from pathlib import Path

from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.builders import configuration, text
from tests.cli.history import SCALED
from tests.shell.fleet import EXAMPLE, load_world, new_fleet, run_pass

SHOP, MEMBER = "workloads/shop.yaml", "clusters/member1.yaml"
DEPLOYMENT = frozenset({("apps", "Deployment")})


def edited(world: World) -> dict[str, frozenset[tuple[str, str]] | None]:
    """Path to kinds."""
    return dict(world.edited)


def test_files_that_differ_have_the_kinds_that_they_hold(tmp_path: Path) -> None:
    """One that is gone has none, what passes wrote and what is no manifest is not among them."""
    fleet = new_fleet(tmp_path / "fleet")
    assert {} == edited(load_world(fleet.folder))
    run_pass(fleet.folder, 0)
    assert {} == edited(load_world(fleet.folder))

    fleet.git("rm", "--quiet", MEMBER)
    fleet.commit({**SCALED, "notes.txt": "mine"})

    assert {SHOP: DEPLOYMENT, MEMBER: None} == edited(load_world(fleet.folder))


def test_following_is_looking_at_everything(tmp_path: Path) -> None:
    """From commit to commit, with edits that are taken back, and with passes in between."""
    fleet = new_fleet(tmp_path / "fleet")
    repository = Repository.open(fleet.folder)
    loader = Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout())
    run_pass(fleet.folder, 0)
    steps = (
        {SHOP: SCALED[SHOP]},
        {SHOP: EXAMPLE[SHOP], MEMBER: EXAMPLE[MEMBER] + "\n"},
        {"workloads/new.yaml": EXAMPLE[SHOP].replace("name: shop", "name: new")},
        {"reconciler.yaml": text(configuration(exclude=["clusters/**"]))},
        {SHOP: SCALED[SHOP]},
    )
    seen = []
    for number, files in enumerate(steps):
        fleet.commit(files)
        if number == len(steps) - 1:
            run_pass(fleet.folder, 60)
        followed = edited(loader.load(repository.resolve("main")))
        assert edited(load_world(fleet.folder)) == followed
        seen.append(set(followed))

    assert [{SHOP}, {MEMBER}] == seen[:2]
    assert MEMBER not in seen[3]
    assert set() == seen[-1]
