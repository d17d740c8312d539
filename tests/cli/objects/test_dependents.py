"""What verbs say of an object that is where it is needed (`propagateDeps`)."""

import pytest

from tests.builders import Body, cluster, configmap, deployment, policy, text
from tests.cli.history import answer
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
SPEC: Body = {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}
READING: Body = {**deployment(), "spec": {"replicas": 2, "template": {"spec": SPEC}}}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A Deployment on the cluster a, and the ConfigMap that it reads."""
    files = {
        "clusters/a.yaml": text(cluster("a")),
        "policies/p.yaml": text(policy(propagateDeps=True)),
        "workloads/web.yaml": text(READING, configmap()),
    }
    checkout = new_checkout(tmp_path_factory.mktemp("needed") / "fleet", files)
    run_pass(checkout.folder, 0)
    return checkout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param("get rb settings-configmap", ["settings-configmap", " a "], id="get"),
        pytest.param("why configmap/settings", ["is on a", "needed, by web-deployment"], id="why"),
        pytest.param(
            "tree configmap/settings", ["cluster/a", "needed by: web-deployment"], id="tree"
        ),
        pytest.param(
            "history configmap/settings", ["nowhere   a ", "needed by web-deployment"], id="history"
        ),
        pytest.param("blame configmap/settings", ["needed by web-deployment"], id="blame"),
    ],
)
def test_it_is_where_it_is_needed(
    fleet: Checkout, capsys: Capsys, words: str, said: list[str]
) -> None:
    """Since the commit that placed what needs it, by whoever caused that."""
    code, out, _ = answer(fleet, capsys, *words.split())

    assert (0, []) == (code, [one for one in said if one not in out])
