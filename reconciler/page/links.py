"""Where a view leads to: addresses of the served page, anchors of a report, or nowhere.

The menu of every page has the views by name. For what a view shows there is a command, each word
quoted, so it can be copied. Links to a forge, for commits and files, are the only ones that leave
the page. Two small views stand here, too: a sentence in the place of a view, with what a user may
do next, and the list of the roots of one daemon, how each stands and where its page is.
"""

import dataclasses
import hashlib
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from urllib.parse import quote, urlencode

from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass


@dataclass(frozen=True, slots=True)
class Anchor:
    """A text that leads somewhere; an `href` of `""` leads nowhere, then it is text only."""

    text: str
    href: str = ""


class Links:
    """Leads nowhere: the links of a page that stands by itself."""

    def view(self, name: str, /, **query: str | int) -> str:  # noqa: ARG002  # those below use it
        """Return where a view is, `""` for nowhere."""
        return ""

    def object(self, key: ObjectKey) -> str:  # noqa: ARG002  # those below use it
        """Return where the view of an object is, `""` for nowhere."""
        return ""

    def ask(self, verb: str, key: ObjectKey) -> str:
        """Return where what a verb would do with an object is composed, `""` for nowhere."""
        return self.view(
            verb, group=key.group, kind=key.kind, namespace=key.namespace, name=key.name
        )

    def part(self, name: str, part: str) -> str:
        """Return where a part of a view is, `""` for nowhere."""
        address = self.view(name)
        return f"{address.partition('#')[0]}#{part}" if address else ""

    def manifest(self, key: ObjectKey, at: str = "") -> str:
        """Return where the texts of an object are, as they were in a commit; `""` for nowhere."""
        return self.view(
            "manifest",
            group=key.group,
            kind=key.kind,
            namespace=key.namespace,
            name=key.name,
            at=at,
        )

    def cluster(self, key: ObjectKey) -> str:
        """Return where the view of a cluster is, `""` for nowhere."""
        return self.view("cluster", kind=key.kind, name=key.name)


class ServedLinks(Links):
    """Leads to the addresses of the served page: all of its views stand beside each other."""

    def view(self, name: str, /, **query: str | int) -> str:
        """Return the address of a view; parts of the query that are empty are left out."""
        given = {key: value for key, value in query.items() if value not in ("", 0)}
        path = "./" if name == "fleet" else name
        return f"{path}?{urlencode(given)}" if given else path

    def object(self, key: ObjectKey) -> str:
        """Return the address of an object's view."""
        return self.ask("object", key)


@dataclasses.dataclass(frozen=True, slots=True)
class ReportLinks(Links):
    """Leads to the parts of one file: its views, and the objects that it tells of."""

    views: Collection[str]
    objects: Collection[ObjectKey] = ()

    def view(self, name: str, /, **query: str | int) -> str:
        """Return the anchor of a view; a report has no pages and no filters."""
        return f"#{name}" if name in self.views and not query else ""

    def object(self, key: ObjectKey) -> str:
        """Return the anchor of an object."""
        return f"#{anchor_of(key)}" if key in self.objects else ""


def anchor_of(key: ObjectKey) -> str:
    """Return the id of an object's part of a report; names may hold anything."""
    return f"object-{hashlib.sha256(str(key).encode()).hexdigest()[:12]}"


TITLES = {
    "fleet": "Fleet",
    "clusters": "Clusters",
    "objects": "Objects",
    "matrix": "Matrix",
    "timeline": "Timeline",
    "coming": "Upcoming",
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


WORDS: Mapping[str, Sequence[str]] = {
    "fleet": ("status",),
    "clusters": ("top", "clusters"),
    "coming": ("status",),
    "faults": ("validate",),
    "timeline": ("events",),
    "objects": ("get", "all", "-o", "wide"),
    "matrix": ("get", "all", "-o", "wide"),
    "rebalancers": ("get", "workloadrebalancers", "--all-namespaces"),
}
"""By view, the verb that says the same."""
KEY = ("group", "kind", "namespace", "name")


def command_for(view: str, query: Mapping[str, str], branch: str) -> str:
    """Return the command, `""` where no verb says the same.

    Args:
        view: Name of the view.
        query: The rest of its address.
        branch: Name of the branch that is shown.
    """
    words = [*WORDS.get(view, ())]
    if view == "plan" and query.get("branch"):
        words = ["plan", f"--head={query['branch']}", f"--base={branch}"]
    if view == "what-if" and (asked := [n for n in ("fail", "cordon", "scale") if query.get(n)]):
        words = ["simulate", *(f"--{name}={query[name]}" for name in asked)]
        words += [f"--namespace={query['namespace']}"] if query.get("namespace") else []
    if view in ("objects", "matrix"):
        words += [f"--namespace={query['namespace']}" if query.get("namespace") else "-A"]
        words += [f"--selector={query['selector']}"] if query.get("selector") else []
    if view == "cluster" and query.get("name"):
        words = ["describe", f"{query.get('kind') or 'cluster'}/{query['name']}"]
    if view == "object":
        return object_command("why", ObjectKey(*(query.get(name, "") for name in KEY)))
    return shlex.join(["reconciler", *words]) if words else ""


HAPPENS = {"fail": "fails", "cordon": "is cordoned", "scale": "is the scale"}


def subject_of(view: str, query: Mapping[str, str]) -> str:
    """Return what a question is about, in words.

    >>> subject_of("what-if", {"fail": "member1", "cordon": "member2"})
    'What if member1 fails, member2 is cordoned'
    >>> subject_of("suspend", {"kind": "Deployment", "name": "shop"})
    'Suspend deployment/shop'
    """
    if view == "what-if":
        says = [f"{query[name]} {what}" for name, what in HAPPENS.items() if query.get(name)]
        return f"What if {', '.join(says)}" if says else TITLES[view]
    if view == "plan" and query.get("branch"):
        return f"Plan of {query['branch']}"
    name = query.get("name", "")
    if view in ("rebalance", "suspend"):
        kind = query.get("kind", "").lower()
        return f"{view.capitalize()} {f'{kind}/{name}' if kind else 'the objects of a list'}"
    return name if view in BELOW and name else TITLES.get(view, view.capitalize())


def object_command(verb: str, key: ObjectKey) -> str:
    """Return a command about one object.

    >>> object_command("why", ObjectKey("apps", "Deployment", "shop", "web"))
    'reconciler why deployment.apps/web --namespace=shop'
    """
    group = f".{key.group}" if key.group else ""
    scope = [f"--namespace={key.namespace}"] if key.namespace else []
    return shlex.join(["reconciler", verb, f"{key.kind.lower()}{group}/{key.name}", *scope])


LONGEST_NEW = 6000  # bytes of an address that hands a file over; servers refuse longer ones


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeKind:
    """How the addresses of a kind of forge are made.

    Attributes:
        files: What stands before a branch and the path of a file.
        new: The same of the page on which a new file is made.
        named: How that page is told a path, and a text.
        requests: What stands before the number of a pull request.
        merged: What the subject of a commit holds that merged one, with its number.
    """

    files: str
    new: str
    named: tuple[str, str]
    requests: str
    merged: re.Pattern[str]


NUMBER = r"([1-9][0-9]{0,8})"
BY_NUMBER = re.compile(rf"^Merge pull request #{NUMBER} |\(#{NUMBER}\)(?:$| from )")
"""GitHub's subject of a merge, that of a squash, and Gitea's of both."""
KINDS = {
    "github": ForgeKind(
        files="blob/",
        new="new/",
        named=("filename", "value"),
        requests="pull/",
        merged=BY_NUMBER,
    ),
    "gitlab": ForgeKind(
        files="-/blob/",
        new="-/new/",
        named=("file_name", "content"),
        requests="-/merge_requests/",
        merged=re.compile(rf"See merge request [^ !]*!{NUMBER}$"),
    ),
    "gitea": ForgeKind(
        files="src/branch/",
        new="_new/",
        named=("filename", "value"),
        requests="pulls/",
        merged=BY_NUMBER,
    ),
}
"""The kinds of forges that are known.

Source: of a new file, GitHub as told in isaacs/github#1527, Gitea go-gitea/gitea#16556, GitLab
app/views/projects/blob/_editor.html.haml.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeLinks:
    """The addresses of one repository at its forge; a part that is `""` leads nowhere.

    Attributes:
        commits: Address of a commit, but for its id.
        files: Address of a file of the branch, but for its path.
        new: Address where a new file is made on the branch.
        requests: Address of a pull request, but for its number.
        kind: Which kind of forge it is, `None` for none.
    """

    commits: str = ""
    files: str = ""
    new: str = ""
    requests: str = ""
    kind: ForgeKind | None = None

    def commit(self, revision: str) -> str:
        """Return where a commit is, `""` for nowhere."""
        return f"{self.commits}{revision}" if self.commits else ""

    def file(self, path: str) -> str:
        """Return where a file is, `""` for nowhere."""
        return f"{self.files}{quote(path)}" if self.files else ""

    def new_file(self, path: str, text: str) -> str:
        """Return where a new file is handed over, `""` for nowhere, or if it is too long."""
        if self.kind is None or not self.new:
            return ""
        address = f"{self.new}?{urlencode(dict(zip(self.kind.named, (path, text), strict=True)))}"
        return address if len(address) <= LONGEST_NEW else ""

    def request(self, subject: str) -> Anchor | None:
        """Return the pull request that a commit merged, by its subject; `None` if it says none."""
        merge = None if self.kind is None else self.kind.merged.search(subject)
        if merge is None or not self.requests:
            return None
        number = next(filter(None, merge.groups()))
        return Anchor(f"pull request {number}", f"{self.requests}{number}")


NO_FORGE = ForgeLinks()


def forge_links(kind: str, commits: str, branch: str, prefix: str) -> ForgeLinks:
    """Return the addresses of a repository.

    Args:
        kind: github, gitlab or gitea.
        commits: Address of a commit, but for its id, as the forge has it.
        branch: The branch that is shown.
        prefix: Folder of the repository that is shown, with `/` at its end; `""` for all of it.

    >>> found = forge_links("github", "https://github.com/acme/fleet/commit/", "main", "")
    >>> found.file("a b.yaml")
    'https://github.com/acme/fleet/blob/main/a%20b.yaml'
    """
    home, known = commits.removesuffix("commit/").removesuffix("-/"), KINDS[kind]
    where = quote(branch, safe="/")
    return ForgeLinks(
        commits=commits,
        files=f"{home}{known.files}{where}/{quote(prefix)}",
        new=f"{home}{known.new}{where}" if not prefix else "",
        requests=f"{home}{known.requests}",
        kind=known,
    )


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence.

    Attributes:
        says: It.
        again: Where the same is asked again, `""` where that is of no use.
        seconds: For how long an answer is being computed.
        most: How long that may take, 0 where nothing is computed, or it waits for its turn.
    """

    says: str
    again: str = ""
    seconds: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RootLine:
    """How one root stands.

    Attributes:
        anchor: Its name, and where its page is.
        ails: Why nobody should rely on it, `""` if all is well.
        at: Moment of its newest pass, `None` if there was none since the daemon began.
        revision: Full hex id of the commit that pass left, `""` if there was none.
        faults: How many faults that pass reported.
        held: Whether removals wait to be let through.
        worker: Who has its memory now, `""` for the daemon itself or nobody.
    """

    anchor: Anchor
    ails: str
    at: datetime | None = None
    revision: str = ""
    faults: int = 0
    held: bool = False
    worker: str = ""
