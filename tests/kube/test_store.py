"""The API server of the stories does what a real one does to objects, their owners and fields."""

import pytest

from reconciler.model.body import Body
from tests.kube.store import Place, Refused, Resource, Store

CONFIG = Resource("", "v1", "ConfigMap", "configmaps")
OWNER = Resource("example.org", "v1", "Owner", "owners", namespaced=False)


@pytest.fixture
def store() -> Store:
    """An empty server."""
    return Store("member1", (CONFIG, OWNER))


def config(name: str, data: Body, **metadata: object) -> Body:
    """A ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "data": data,
    }


def owner(store: Store, name: str) -> Body:
    """An owner that is there; returned is a reference to it."""
    body = {"apiVersion": "example.org/v1", "kind": "Owner", "metadata": {"name": name}}
    made = store.write(body, "agent")["metadata"]
    assert isinstance(made, dict)
    return {"apiVersion": "example.org/v1", "kind": "Owner", "name": name, "uid": made["uid"]}


def there(store: Store) -> list[str]:
    """The names of the ConfigMaps."""
    return [str(one["metadata"]["name"]) for one in store.all("ConfigMap")]  # type: ignore[index]


def test_what_is_owned_goes_with_its_last_owner(store: Store) -> None:
    """Garbage collection; one owner of two is only taken off."""
    one, two = owner(store, "one"), owner(store, "two")
    store.write(config("both", {}, ownerReferences=[one, two]), "agent")
    store.write(config("single", {}, ownerReferences=[one]), "agent")
    store.delete(Place(OWNER, "", "one"))

    assert ["both"] == there(store)
    store.delete(Place(OWNER, "", "two"), "Foreground")
    assert [] == there(store)


def test_what_is_orphaned_stays(store: Store) -> None:
    """With the same uid."""
    made = store.write(config("kept", {}, ownerReferences=[owner(store, "one")]), "agent")
    store.delete(Place(OWNER, "", "one"), "Orphan")

    (kept,) = store.all("ConfigMap")
    assert made["metadata"]["uid"] == kept["metadata"]["uid"]  # type: ignore[index]
    assert [] == kept["metadata"]["ownerReferences"]  # type: ignore[index]


def test_a_finalizer_holds_what_is_deleted(store: Store) -> None:
    """Until whoever set it takes it off."""
    place = Place(CONFIG, "default", "held")
    store.write(config("held", {}, finalizers=["example.org/agent"]), "agent")
    store.delete(place)

    assert ["held"] == there(store)
    store.merge(place, {"metadata": {"finalizers": None}}, "agent")
    assert [] == there(store)


def test_applying_what_another_has_set_otherwise_conflicts(store: Store) -> None:
    """The same value is no conflict; by force the value is taken over."""
    store.write(config("one", {"a": "1", "b": "2"}), "agent")
    store.apply(config("one", {"a": "1"}), "flux", force=False)
    with pytest.raises(Refused, match=r"data\.b of agent"):
        store.apply(config("one", {"b": "3"}), "flux", force=False)
    found = store.apply(config("one", {"b": "3"}), "flux", force=True)

    assert {"a": "1", "b": "3"} == found["data"]


def test_what_is_applied_no_more_goes_unless_another_has_it(store: Store) -> None:
    """Two managers may have one field."""
    store.write(config("one", {"a": "1"}), "agent")
    store.apply(config("one", {"a": "1", "b": "2"}), "flux", force=True)
    found = store.apply(config("one", {}), "flux", force=True)

    assert {"a": "1"} == found["data"]


def test_an_apply_leaves_owners_finalizers_and_uid_alone(store: Store) -> None:
    """They are fields of others."""
    one = owner(store, "one")
    before = store.write(
        config("one", {"a": "1"}, ownerReferences=[one], finalizers=["f"]), "agent"
    )
    after = store.apply(config("one", {"a": "2"}), "flux", force=True)
    kept = ("ownerReferences", "finalizers", "uid")

    assert [before["metadata"][n] for n in kept] == [after["metadata"][n] for n in kept]  # type: ignore[index]
    assert ["created Owner one", "created ConfigMap default/one"] == store.log


def test_a_stale_version_is_refused(store: Store) -> None:
    """Somebody else was faster."""
    made = store.write(config("one", {"a": "1"}), "agent")["metadata"]
    assert isinstance(made, dict)
    store.write(config("one", {"a": "2"}), "other")

    with pytest.raises(Refused, match="modified"):
        store.write(config("one", {"a": "3"}), "agent", expected=str(made["resourceVersion"]))
