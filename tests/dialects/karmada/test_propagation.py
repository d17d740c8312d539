"""What Karmada never propagates: by default, by the configuration, and what was placed before."""

import pytest

from tests.builders import Body, cluster, configmap, configuration, policy, selector
from tests.stories import Story, story

DNS = "status/resourcebindings.work.karmada.io/kube-system/dns-configmap.yaml"


def placed_dns(options: Body | None = None) -> Story:
    """A ConfigMap in kube-system, and a policy that selects it."""
    config = configmap("dns", namespace="kube-system")
    selecting = policy(namespace="kube-system", selectors=[selector("ConfigMap")])
    settings = [] if options is None else [configuration(karmada=options)]
    return story(cluster("a"), config, selecting, *settings)


@pytest.mark.parametrize(
    ("options", "placed"),
    [
        pytest.param(None, False, id="by-default"),
        pytest.param({"skippedPropagatingNamespaces": []}, True, id="own-list"),
        pytest.param({"skippedPropagatingNamespaces": ["kube-s.*"]}, False, id="own-pattern"),
        pytest.param(
            {"skippedPropagatingNamespaces": [], "skippedPropagatingAPIs": "v1/Secret,ConfigMap"},
            False,
            id="own-kinds",
        ),
    ],
)
def test_what_is_skipped_is_not_placed(options: Body | None, placed: bool) -> None:  # noqa: FBT001  # a table
    """Namespaces `kube-.*` unless the configuration says others; APIs beside the defaults."""
    told = placed_dns(options)
    told.run(0)

    assert placed == (DNS in told.files)


def test_what_was_placed_before_waits_for_leave() -> None:
    """However few they are: it stays, and a fault says what would let it go."""
    told = placed_dns({"skippedPropagatingNamespaces": []})
    told.run(0)
    told.run(100)
    told.put(configuration(karmada={}))
    outcome = told.run(200)
    [fault] = outcome.faults
    allowed = fault.expected.split("`")[1].removeprefix("allow: ")

    assert ("removal-braked", True) == (fault.rule, DNS in told.files)
    assert () == outcome.decisions

    told.put(configuration(karmada={}, safety={"allow": allowed}))
    outcome = told.run(300)

    assert False is (DNS in told.files)
    assert ["never propagated"] == [str(one.cause) for one in outcome.decisions]


def test_a_pattern_that_is_none_is_a_fault() -> None:
    """The configuration keeps its last good version; RE2 has no look-ahead."""
    told = placed_dns({"skippedPropagatingNamespaces": ["(?=kube)"]})
    outcome = told.run(0)

    assert ["schema-format"] == [fault.rule for fault in outcome.faults]
    assert "must be a regular expression" in outcome.faults[0].message


def test_an_api_with_three_slashes_is_a_fault() -> None:
    """Upstream's flag refuses it, too."""
    told = placed_dns({"skippedPropagatingAPIs": "apps;a/b/c/d"})
    outcome = told.run(0)

    assert ["schema-pattern"] == [fault.rule for fault in outcome.faults]
