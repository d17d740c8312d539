"""How many times faster than upstream's schedulers one question is answered.

Run with `python -m benchmarks.ratios`. Upstream's figures are medians of the real Go schedulers on
the same inputs and two cores of the same kind. Ours are process time in milliseconds: `ours` on a
fleet that is indexed, `with index` has the index and the first question besides. Of Karmada both
are means over a batch that is asked for the first time; its results have upstream's checksums.
"""

import gc
from collections.abc import Iterable

from benchmarks import karmada_schedule, kubefleet_schedule, ocm_schedule
from benchmarks.ratio_row import Row
from reconciler.cli.main import COLLECTIONS


def print_table(rows: Iterable[Row]) -> None:
    """Print each row as soon as it is measured."""
    print(
        f"{'question':32} {'clusters':>8} {'upstream':>9} {'ours':>8} {'ratio':>6} {'goal':>5} "
        f"{'with index':>11} {'ratio':>6}"
    )
    for row in rows:
        ratio = row.upstream / row.ours
        missed = "" if ratio >= row.goal else "  missed"
        print(
            f"{row.question:32} {row.clusters:8} {row.upstream:9.2f} {row.ours:8.3f} {ratio:6.1f} "
            f"{row.goal:5.0f} {row.with_index:11.2f} {row.upstream / row.with_index:6.1f}{missed}",
            flush=True,
        )


def main() -> None:
    """Print the table of all three."""
    gc.set_threshold(*COLLECTIONS)  # as the command does
    for module in (karmada_schedule, ocm_schedule, kubefleet_schedule):
        print_table(module.rows())


if __name__ == "__main__":
    main()
