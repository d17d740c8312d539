"""Karmada: a cluster fails, its work moves when that is tolerated no more, and comes back."""

from tests.builders import deployment, metadata, rebalancer, target, text
from tests.delivery.story import DeliveryStory, Step
from tests.shell.fleet import EXAMPLE

CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: fleet}
spec:
  feedback: {assumeAfterSeconds: null}
  delivery: {folders: {}}
"""
TOLERANT = EXAMPLE["policies/shop.yaml"].replace("tolerationSeconds: 0", "tolerationSeconds: 60")
DOWN = EXAMPLE["clusters/member1.yaml"] + (
    "status:\n"
    "  conditions:\n"
    "  - type: Ready\n"
    '    status: "False"\n'
    "    reason: PowerLost\n"
    '    lastTransitionTime: "2026-11-20T12:02:00Z"\n'
)
MEMBER1 = "clusters/member1.yaml"


def healthy(name: str, namespace: str = "default", *, replicas: int = 2) -> str:
    """What a cluster says of a Deployment once all of it runs."""
    ready = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), replicas)
    body = {
        **deployment(name, replicas=replicas),
        "metadata": {**metadata(name, namespace), "generation": 1},
        "status": {**ready, "updatedReplicas": replicas, "observedGeneration": 1},
    }
    return text(body)


FIRST, SECOND = ({f"feedback/{name}/shop.yaml": healthy("shop")} for name in ("member1", "backup1"))
BACK = {"rebalancers/back.yaml": text(rebalancer("back", target(name="shop")))}
KARMADA = DeliveryStory(
    name="karmada",
    column="the folders that have the shop, with its replicas",
    files={**EXAMPLE, "reconciler.yaml": CONFIGURATION, "policies/shop.yaml": TOLERANT},
    clusters=("member1", "member2", "backup1"),
    path="default/deployments.apps/shop.yaml",
    fact=r"^  replicas: (\d+)$",
    steps=(
        Step("the shop is merged", 0, {}, "member1: 2"),
        Step("member1 reports that it runs", 60, FIRST, "member1: 2"),
        Step("member1 fails; that is tolerated for a minute", 121, {MEMBER1: DOWN}, "member1: 2"),
        Step("the minute is over: the shop is evicted", 181, {}, "member1: 2, backup1: 2"),
        Step(
            "backup1 reports that it runs: the eviction ends",
            240,
            SECOND,
            "backup1: 2",
        ),
        Step("member1 is back; that moves nothing", 300, {MEMBER1: EXAMPLE[MEMBER1]}, "backup1: 2"),
        Step("a rebalancer is merged", 360, BACK, "member1: 2"),
    ),
)
