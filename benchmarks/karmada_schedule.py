"""Time of one Karmada binding: `python -m benchmarks.karmada_schedule`."""

from time import perf_counter

from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.clusters import decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.schedule import schedule
from reconciler.model.moments import parse_moment
from tests.fleet_inputs import binding, cluster

NOW = parse_moment("2026-11-20T12:00:00Z")


def main() -> None:
    for size, count in ((100, 1000), (1000, 1000), (5000, 200)):
        start = perf_counter()
        members = members_of(decode_cluster(cluster(i)) for i in range(size))
        print(f"{size} clusters: decoded and indexed in {perf_counter() - start:.3f} s")
        for strategy in ("dynamic", "duplicated", "aggregated", "static", "spread"):
            bindings = [decode_binding(binding(j, strategy)) for j in range(count)]
            start = perf_counter()
            for item in bindings:
                schedule(item, members, NOW)
            each = (perf_counter() - start) / count
            print(f"  {strategy:10} {1000 * each:8.3f} ms a binding, {count} bindings")


if __name__ == "__main__":
    main()
