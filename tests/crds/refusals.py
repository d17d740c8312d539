"""Functions of ours as `Refuses`: asked whether they refuse an object, or an edit of one field."""

from collections.abc import Callable, Iterable, Sequence

from reconciler.errors import Misconfigured
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from tests.crds.rules import Refuses


def finds(check: Callable[[Body], Iterable[Violation]], *names: str) -> Refuses:
    """Return whether a function finds a violation of one of these rules of ours."""
    return lambda _before, after: any(one.rule in names for one in check(after))


def misconfigures(check: Callable[[Body, Body], None], *path: str) -> Refuses:
    """Return whether a function refuses an edit of one field.

    The other fields stay, since the function names the first that is in the wrong.
    """

    def refuses(before: Body, after: Body) -> bool:
        if not before:
            return False
        try:
            check(before, _edited(before, after, path))
        except Misconfigured as error:
            return error.field == f"/{'/'.join(path)}"
        return False

    return refuses


def _edited(before: Body, after: Body, path: Sequence[str]) -> Body:
    """Return an object as it was, but for one field; what that is in may have gone altogether."""
    name, *rest = path
    if rest and name in after:
        return {**before, name: _edited(mapping(before, name), mapping(after, name), rest)}
    others = {key: one for key, one in before.items() if key != name}
    return {**others, name: after[name]} if name in after else others
