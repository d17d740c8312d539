"""A harbor for tests: a repository of the toy dialect, and a product that knows that."""

import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reconciler.manifests.admission import SUSPEND
from tests.builders import Body, metadata, path_of, text
from tests.shell.fleet import ROOT, process_environment, reconciler
from tests.shell.repositories import Checkout

TOY = ROOT / "tests/toys/dialect"
GROUP = "toy.example.dev"
NORTH = {"sea": "north"}
LATER = ("--now", "2026-11-20T12:10:00Z")
STORM = {"key": "stormy", "effect": "NoExecute"}


def site(name: str, *taints: Body, sea: str = "north") -> Body:
    """A site in a sea."""
    spec = {"spec": {"taints": list(taints)}} if taints else {}
    found = metadata(name, labels={"sea": sea})
    return {"apiVersion": f"{GROUP}/v1", "kind": "Site", "metadata": found, **spec}


def berth(
    name: str = "ferry", *, sites: object = 2, suspend: str = "", cargo: Body | None = None
) -> Body:
    """A berth in the north."""
    annotations = {SUSPEND: suspend} if suspend else {}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Berth",
        "metadata": metadata(name, "default", annotations=annotations),
        "spec": {
            "sites": sites,
            "labels": NORTH,
            **({} if cargo is None else {"cargo": cargo}),
        },
    }


def files(*bodies: Body) -> Mapping[str, str]:
    """Each object in a file of its own."""
    return {path_of(body): text(body) for body in bodies}


FERRY: Body = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Berth",
    "namespace": "default",
    "name": "ferry",
}


def register(build: Path) -> None:
    """Copy the product, add the one line, and put the schemas beside those of the others."""
    partly_written = shutil.ignore_patterns("*.pyc.*")
    for folder in ("reconciler", "schemas"):
        shutil.copytree(ROOT / folder, build / folder, ignore=partly_written)
    shutil.copytree(TOY / "schemas", build / "schemas" / GROUP)
    dialects = build / "reconciler/core/dialects.py"
    line = r"from tests.toys.dialect.dialect import TOY\n\n\1, TOY)"
    source, times = re.subn(r"^(DIALECTS: .*)\)$", line, dialects.read_text(), flags=re.MULTILINE)
    assert 1 == times
    dialects.write_text(source)


@dataclass(frozen=True)
class Harbor:
    """A repository of the toy, served by a product in which it is registered."""

    sources: tuple[Path, Path]
    checkout: Checkout

    def ask(self, *arguments: str) -> str:
        """Return what a command prints that succeeds."""
        found = reconciler(self.checkout.folder, *arguments, sources=self.sources)

        assert 0 == found.code, found.stderr
        return found.stdout

    def rows(self, *arguments: str) -> list[list[str]]:
        """Return the cells of a table without its titles."""
        return [re.split(" {2,}", row) for row in self.ask(*arguments).splitlines()[1:]]

    def run_pass(self, minute: int) -> str:
        """Run a pass at a minute after twelve."""
        return self.ask("reconcile", "--now", f"2026-11-20T12:{minute:02}:00Z")

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve the page as a process of its own while the block lasts, and return its address."""
        process = subprocess.Popen(
            [sys.executable, "-m", "reconciler", "serve", "--listen", "0"],
            cwd=self.checkout.folder,
            env=process_environment(self.sources),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.communicate()


def page(address: str) -> str:
    """The text of a page."""
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310  # our own
        found: bytes = answer.read()
    return found.decode()
