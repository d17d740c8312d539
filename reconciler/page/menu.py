"""The views by name: what the menu of every page says, and which verb says the same."""

from collections.abc import Sequence

from reconciler.page.links import Anchor, Links

TITLES = {
    "fleet": "Fleet",
    "clusters": "Clusters",
    "objects": "Objects",
    "matrix": "Matrix",
    "timeline": "Timeline",
    "coming": "Coming",
    "rebalancers": "Rebalancers",
    "faults": "Faults",
    "plan": "Plan",
    "what-if": "What if",
}
"""The views in the menu, by name."""

BELOW = {
    "cluster": "clusters",
    "object": "objects",
    "manifest": "objects",
    "rebalance": "objects",
    "suspend": "objects",
}
"""Views that are not in the menu, and the one that they belong to."""


def titled(view: str, links: Links) -> Anchor:
    """Return a view of the menu with its title."""
    return Anchor(TITLES[view], links.view(view))


def menu_of(links: Links, view: str, home: str = "") -> Sequence[tuple[Anchor, bool]]:
    """Return the menu, each view with whether it is the one that is shown.

    Args:
        links: Where they are.
        view: Name of the one that is shown, or of one that belongs to it.
        home: Where the list of the roots is, `""` where there is none.
    """
    here = BELOW.get(view, view)
    menu = [(Anchor("Roots", home), False)] if home else []
    return menu + [(Anchor(text, links.view(name)), name == here) for name, text in TITLES.items()]
