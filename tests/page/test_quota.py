"""A quota on the page: what it has stands beside what it limits, and who is refused is wrong."""

from pathlib import Path

from tests.builders import cluster, configuration, deployment, policy, quota, text
from tests.page.served import served_page
from tests.shell.fleet import run_pass
from tests.shell.repositories import new_checkout

FILES = {
    "reconciler.yaml": text(configuration(karmada={"federatedQuotaEnforcement": True})),
    "clusters/a.yaml": text(cluster("a")),
    "policy.yaml": text(policy()),
    "quota.yaml": text(quota(overall={"cpu": "3"})),
    "api.yaml": text(deployment("api", cpu="1")),
    "web.yaml": text(deployment("web", cpu="1")),
}


def test_a_quota_is_shown_with_what_is_used(tmp_path: Path) -> None:
    """Its status file stands below its manifest."""
    fleet = new_checkout(tmp_path / "fleet", FILES)
    run_pass(fleet.folder, 0)

    with served_page(fleet.folder) as page:
        kind = "group=policy.karmada.io&kind=FederatedResourceQuota"
        shown = page.get(f"/manifest?{kind}&namespace=default&name=quota").text
        kind = "group=work.karmada.io&kind=ResourceBinding"
        refused = page.get(f"/object?{kind}&namespace=default&name=web-deployment").text

    assert "overallUsed" in shown
    assert "FederatedResourceQuota(default/quota) exceeded" in refused
