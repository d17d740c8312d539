"""What of a manifest no member cluster is given, and which manifests are not delivered at all."""

import pytest

from reconciler.dialects.karmada.binding.replicas import pruned
from reconciler.errors import UserError
from tests.builders import Body


def job(**spec: object) -> Body:
    """A Job, as a file has it."""
    body: Body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}}
    return {**body, "spec": {"template": {"spec": {"containers": []}}, **spec}}


def labelled(labels: object) -> Body:
    """The template of a Job with these labels."""
    return {"metadata": {"labels": labels}, "spec": {}}


def account(*secrets: str) -> Body:
    """A ServiceAccount that names these Secrets."""
    named = [{"name": name} for name in secrets]
    return {"kind": "ServiceAccount", "metadata": {"name": "bot"}, "secrets": named}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(
            job(template=labelled({"job-name": "once", "tier": 3})),
            "spec.template.metadata.labels.tier",
            id="label-of-the-template-is-a-number",
        ),
        pytest.param(
            job(template=labelled({"tier": None})),
            "spec.template.metadata.labels",
            id="label-of-the-template-is-null",
        ),
        pytest.param(
            job(template=labelled(None)),
            "spec.template.metadata.labels",
            id="labels-of-the-template-are-null",
        ),
        pytest.param(
            job(selector={"matchLabels": {"controller-uid": True}}),
            "spec.selector.matchLabels.controller-uid",
            id="label-that-goes-is-a-flag",
        ),
        pytest.param(
            job(manualSelector=True, template=labelled({"tier": 3})),
            "spec.template.metadata.labels.tier",
            id="labels-are-kept-and-one-is-a-number",
        ),
        pytest.param(job(manualSelector="yes"), "spec.manualSelector", id="flag-is-a-text"),
        pytest.param(job(parallelism="3"), "spec.parallelism", id="number-is-a-text"),
        pytest.param(job(backoffLimit=2**31), "spec.backoffLimit", id="number-is-too-great"),
        pytest.param(job(template=[]), "spec.template", id="mapping-is-a-list"),
        pytest.param(
            job(template={"spec": {"containers": [{"image": 3}]}}),
            "spec.template.spec.containers/0.image",
            id="image-is-a-number",
        ),
    ],
)
def test_job_of_other_types_is_not_delivered(body: Body, told: str) -> None:
    """The field is named."""
    with pytest.raises(UserError, match=f"^`{told}` must be "):
        pruned(body)


@pytest.mark.parametrize(
    ("secrets", "kept"),
    [
        pytest.param(("bot-token-a", "mine", "bot-token-b"), ["mine"], id="apart"),
        pytest.param(
            ("bot-token-a", "bot-token-b", "mine", "bot-token-c"),
            ["bot-token-b", "mine"],
            id="second-of-two-neighbours-stays",
        ),
        pytest.param(
            ("bot-token-a", "bot-token-b", "bot-token-c"),
            ["bot-token-b"],
            id="second-of-three-neighbours-stays",
        ),
    ],
)
def test_tokens_of_an_account_go(secrets: tuple[str, ...], kept: list[str]) -> None:
    """As upstream's loop has it, which passes over the entry after each that goes."""
    assert account(*kept) == pruned(account(*secrets))


def test_an_address_that_is_no_text_stays() -> None:
    """Upstream reads it as a text, or not at all."""
    service: Body = {"kind": "Service", "spec": {"clusterIP": 5, "clusterIPs": ["10.0.0.1"]}}

    assert service == pruned(service)
