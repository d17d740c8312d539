"""Compares our schemas with a folder of CRDs and keeps the facts: `make schemas CRDS=FOLDER`.

`reader.py` takes the facts from a folder of CRDs, `tables.py` keeps them in `fixtures/`, `facts.py`
takes the same facts from our schemas, `compare.py` lists the differences, and `rules.py` says which
of them are meant, and names our function for each CEL rule. Ends with 1 if a difference has no
reason, or a reason no difference.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.crds.compare import Difference, differences, table_of, unexplained, unused, write_kinds
from tests.crds.facts import our_schemas
from tests.crds.reader import read_crds
from tests.crds.rules import Reason, read_reasons
from tests.crds.tables import read_by_hand, read_tables, write_tables
from tests.shell.fleet import ROOT


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Keep what the CRDs of a folder say, and print each difference that has no reason."""
    parser = argparse.ArgumentParser(prog="make schemas", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of CRDs, at any depth")
    parser.add_argument("--commit", default="", help="of the project that they are from")
    given = parser.parse_args(arguments)
    upstream = read_crds(given.folder)
    if not upstream.kinds:
        parser.error(f"{given.folder} must hold CustomResourceDefinitions in *.yaml or *.yml")
    write_tables(upstream, our_schemas(), given.commit, root)
    write_kinds(root)
    found = differences(read_tables(root), read_by_hand(our_schemas(), root))
    return report(found, read_reasons())


def report(found: Sequence[Difference], reasons: Sequence[Reason]) -> int:
    """Print what a person must look at; return the exit code."""
    strange, idle = unexplained(found, reasons), unused(found, reasons)
    if strange:
        sys.stdout.write(table_of(strange))
    for reason in idle:
        field = reason.field or "the kind"
        sys.stdout.write(f"No difference has the reason of {reason.kinds}, {field}.\n")
    meant = len(found) - len(strange)
    sys.stdout.write(f"{len(strange)} differences lack a reason, {meant} have one.\n")
    return 1 if strange or idle else 0


if __name__ == "__main__":
    sys.exit(main())
