"""Rolling back a decision that is not the newest: what the documentation says, done by git."""

import re
import subprocess
from collections.abc import Mapping

import pytest

from reconciler.cli.main import run
from reconciler.model.fields import bodies, mapping
from tests.builders import deployment, path_of, text
from tests.shell.fleet import ROOT, load_world, run_pass
from tests.shell.passes.test_exactly_once import (
    AWAY,
    BINDING,
    HOME,
    REBALANCER,
    rebalances,
    repository,
    settle,
)
from tests.shell.repositories import ENVIRONMENT, Checkout

__all__ = ["repository"]  # a fixture

GUIDE = ROOT / "docs" / "rebalancing.md"
RECORD = "status/reconciler.yaml"
DONE = "status/workloadrebalancers.apps.karmada.io/back.yaml"
OTHER = deployment("other")
UNION = f"git revert --no-edit $DECISION; git checkout HEAD -- {BINDING}; git commit --no-edit"


def recipe(name: str) -> str:
    """Return the commands that the documentation gives under a mark."""
    found = re.search(rf"<!-- {name} -->\n```\n(.*?)```\n", GUIDE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def follow(checkout: Checkout, commands: str, **names: str) -> "subprocess.CompletedProcess[str]":
    """Run commands as a person with a shell would."""
    return subprocess.run(
        ["sh", "-c", commands],
        cwd=checkout.folder,
        env={**ENVIRONMENT, **names},
        capture_output=True,
        text=True,
        check=False,
    )


def placed(checkout: Checkout, name: str = "web") -> list[str]:
    """The clusters of a workload."""
    for key, manifest in load_world(checkout.folder).outputs.items():
        if (key.kind, key.name) == ("ResourceBinding", f"{name}-deployment"):
            return [
                str(item["name"]) for item in bodies(mapping(manifest.body, "spec"), "clusters")
            ]
    return []


@pytest.fixture
def moved(repository: Checkout) -> Mapping[str, str]:
    """Web was rebalanced home, where it is reported, and a later pass placed something else."""
    merged = repository.commit(REBALANCER, "Bring web back")
    run_pass(repository.folder, 500)
    decision = repository.head()
    report = text({**deployment(), "status": {"replicas": 2, "availableReplicas": 2}})
    reports = {f"feedback/{name}/web.yaml": report for name in HOME}
    repository.commit({path_of(OTHER): text(OTHER), **reports}, "Add another one")
    run_pass(repository.folder, 600)
    assert (HOME, HOME) == (placed(repository), placed(repository, "other"))
    return {"MERGED": merged, "DECISION": decision}


def test_a_plain_revert_of_an_older_decision_stops(
    repository: Checkout, moved: Mapping[str, str]
) -> None:
    """Why there is a recipe: later passes wrote to the same files."""
    done = follow(repository, "git revert --no-edit $DECISION", **moved)

    assert 0 != done.returncode
    assert {f"UU {RECORD}", f"UU {BINDING}"} <= set(repository.status().splitlines())


def test_the_recipe_rolls_back_an_older_decision_and_it_stays_so(
    repository: Checkout, moved: Mapping[str, str]
) -> None:
    """Only what that decision did is undone; the record of passes stays the latest one."""
    before = (repository.folder / RECORD).read_text()

    done = follow(repository, recipe("roll back"), **moved)

    assert 0 == done.returncode, done.stderr
    assert before == (repository.folder / RECORD).read_text()
    assert "" == repository.status()
    settle(repository, 700)
    settle(repository, 5000)
    assert (AWAY, HOME, 1) == (
        placed(repository),
        placed(repository, "other"),
        rebalances(repository),
    )
    assert not (repository.folder / DONE).exists()


def test_the_recipe_rolls_back_over_later_decisions_about_the_same_object(
    repository: Checkout, moved: Mapping[str, str]
) -> None:
    """The cluster of before is in force again, with what the manifest asks for now."""
    grown = deployment(replicas=7)
    repository.commit({path_of(grown): text(grown)}, "Grow")
    run_pass(repository.folder, 700)

    done = follow(repository, recipe("roll back"), **moved)

    assert 0 == done.returncode, done.stderr
    settle(repository, 800)
    settle(repository, 5000)
    assert (AWAY, 1) == (placed(repository), rebalances(repository))
    assert "    replicas: 7\n" in (repository.folder / BINDING).read_text()


def test_the_recipe_rolls_back_the_newest_decision_too(repository: Checkout) -> None:
    """Where `git revert` would do."""
    merged = repository.commit(REBALANCER, "Bring web back")
    run_pass(repository.folder, 500)

    done = follow(repository, recipe("roll back"), MERGED=merged, DECISION=repository.head())

    assert 0 == done.returncode, done.stderr
    settle(repository, 5000)
    assert (AWAY, 1) == (placed(repository), rebalances(repository))


def test_one_object_is_taken_back_by_its_file(
    repository: Checkout, moved: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """No conflict, whatever was decided since; a proof of the history names who did it."""
    commands = recipe("take back").replace("default/shop-", "default/web-")

    done = follow(repository, commands, **moved)

    assert 0 == done.returncode, done.stderr
    settle(repository, 700)
    settle(repository, 5000)
    assert (AWAY, 1) == (placed(repository), rebalances(repository))
    assert 1 == run(["-C", str(repository.folder), "verify"])
    assert f"{BINDING}: edited by Ada <ada@example.com>" in capsys.readouterr().out


def test_a_union_of_both_records_holds_everything(
    repository: Checkout, moved: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """So the documentation warns of it: the record has each key twice."""
    repository.commit({".gitattributes": f"{RECORD} merge=union\n"}, "Resolve by union")

    assert 0 == follow(repository, UNION, **moved).returncode
    moment = "2026-11-20T14:00:00Z"
    assert 1 == run(["-C", str(repository.folder), "reconcile", "--now", moment])

    assert f"{RECORD}:9:3: an output cannot be read and is left" in capsys.readouterr().err
