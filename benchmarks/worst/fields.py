"""Time and memory of a pass and of questions, where one field is as full as a file may be.

`python -m benchmarks.worst.fields`; docs/limits.md shows what it printed. The fields are those that
could cost more than their length.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.worst.full_fields import (
    FILE_BYTES,
    MOST_ITEMS,
    RENDER,
    WorstField,
    affinity,
    any_of,
    cel,
    changes,
    cron,
    feedback,
    filled,
    in_text,
    karmada,
    kubefleet,
    loop_in_loop,
    models,
    ocm,
    overrides,
    weights,
)
from tests.builders import cluster, configuration, path_of, policy, selector, text
from tests.dialects.ocm.worlds import placement as ocm_placement
from tests.shell.repositories import new_checkout


def worst_fields() -> Mapping[str, WorstField]:
    """Return each field that is known to cost more than its length, full."""
    return {
        "patches that insert at the front of a list": karmada(
            overrides(lambda _: ("add", "/spec/template/spec/containers/0", {"name": "c"})),
            asks=(RENDER,),
        ),
        "patches that replace one value": karmada(
            overrides(lambda i: ("replace", "/spec/replicas", i)), asks=(RENDER,)
        ),
        "patches of many names": karmada(
            overrides(
                lambda i: (
                    ("add", f"/metadata/annotations/n{i}", "v")
                    if i
                    else ("add", "/metadata/annotations", {})
                )
            ),
            asks=(RENDER,),
        ),
        "labels, one change each": karmada(
            changes("labelsOverrider", lambda i: {"operator": "add", "value": {f"n{i}": "v"}}),
            asks=(RENDER,),
        ),
        "arguments, one change each": karmada(
            changes(
                "argsOverrider",
                lambda i: {"containerName": "main", "operator": "add", "value": [f"a{i}"]},
            ),
            asks=(RENDER,),
        ),
        "images, one change each": karmada(
            changes(
                "imageOverrider",
                lambda i: {"component": "Tag", "operator": "replace", "value": f"v{i}"},
            ),
            asks=(RENDER,),
        ),
        "a text of YAML that is changed once": in_text(1),
        "a text of YAML that is changed over and over": in_text(MOST_ITEMS),
        "KubeFleet's patches at the front of a list": kubefleet(),
        "values of a label selector": karmada(
            affinity(labelSelector={"matchExpressions": [any_of(filled(lambda i: f"v{i}"))]}),
        ),
        "expressions of a label selector": karmada(
            affinity(
                labelSelector={
                    "matchExpressions": filled(
                        lambda i: {"key": f"k{i}", "operator": "NotIn", "values": ["v"]}
                    )
                }
            )
        ),
        "names of an affinity": karmada(affinity(clusterNames=filled(lambda i: f"cluster-{i}"))),
        "tolerations": karmada(
            policy(
                placement={"clusterTolerations": filled(lambda i: {"key": f"k{i}", "value": "v"})}
            )
        ),
        "static weights": karmada(policy(placement={"replicaScheduling": weights()})),
        "affinity terms": karmada(
            policy(
                placement={
                    "clusterAffinities": filled(
                        lambda i: {"affinityName": f"a{i}", "clusterNames": ["none"]}
                    )
                }
            )
        ),
        "selectors of resources": karmada(
            policy(selectors=[selector(), *filled(lambda i: selector(name=f"w{i}"))])
        ),
        "resource models": karmada(
            {**cluster("models"), "spec": {"syncMode": "Push", "resourceModels": models()}}
        ),
        "taints of a cluster": karmada(
            cluster(
                "tainted",
                taints=filled(
                    lambda i: {"key": f"k{i}", "value": "v", "effect": "PreferNoSchedule"}
                ),
            )
        ),
        "more globs than are taken": karmada(
            configuration(exclude=filled(lambda i: f"**/*a*b*{i}*c*.yaml"))
        ),
        "one long glob": karmada(configuration(exclude=["*a" * (FILE_BYTES // 2)])),
        "as many globs as are taken": karmada(configuration(exclude=["*a" * 100] * 500)),
        "expressions of namespaces": karmada(
            configuration(karmada={"skippedPropagatingNamespaces": ["(a|b)*c" * 28] * 500})
        ),
        "a cron expression of many minutes": karmada(cron(",".join(["1"] * 400_000))),
        "windows of cron": karmada(
            configuration(
                freeze={
                    "windows": [
                        {"schedule": f"{i % 60} 0 29 2 *", "duration": "1h"} for i in range(100)
                    ]
                }
            )
        ),
        "CEL, one long sum": ocm(cel(" + ".join(["1"] * 200_000) + " > 0")),
        "CEL, deep brackets": ocm(cel("(" * 300_000 + "true" + ")" * 300_000)),
        "CEL, many expressions": ocm(
            cel(*filled(lambda i: f"managedCluster.metadata.name != 'c{i}'"))
        ),
        "CEL, a loop in a loop": ocm(cel(loop_in_loop())),
        "predicates of OCM": ocm(
            ocm_placement(
                predicates=filled(
                    lambda i: {
                        "requiredClusterSelector": {
                            "labelSelector": {"matchLabels": {f"k{i}": "v"}}
                        }
                    }
                )
            )
        ),
        "tolerations of OCM": ocm(
            ocm_placement(tolerations=filled(lambda i: {"key": f"k{i}", "value": "v"}))
        ),
        "a JSONPath of many fields": ocm(feedback(".a" * (FILE_BYTES // 2))),
        "a JSONPath of wildcards": ocm(feedback(".a" + "[*]" * (FILE_BYTES // 3))),
    }


MEASURED = """
import resource, sys
from pathlib import Path
from reconciler.cli.main import run
code = run(sys.argv[1:])
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
seconds = sum(one.ru_utime + one.ru_stime for one in used)
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print("measured", code, seconds, int(peak) // 1024, file=sys.stderr)
"""


@dataclass(frozen=True)
class Measured:
    """What one command took; `code` is -1 if it did not end by itself."""

    verb: str
    code: int
    seconds: float
    megabytes: int
    said: str


def write_fleet(field: WorstField, folder: Path) -> None:
    """Write a fleet into a repository of its own."""
    new_checkout(folder, {path_of(body): text(body) for body in field.bodies})


def measure(field: WorstField, folder: Path) -> Iterator[Measured]:
    """Yield what each command took in the repository of a fleet, one after the other."""
    for verb in ("validate", "reconcile", *field.asks):
        asked = ["-C", str(folder), "--cache-dir", "off", *verb.split()]
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *asked], capture_output=True, text=True, check=False
        )
        *said, last = done.stderr.splitlines() or [""]
        told = "\n".join([*said, done.stdout])
        found = last.split() if last.startswith("measured ") else ["", "-1", "0", "0"]
        yield Measured(verb, int(found[1]), float(found[2]), int(found[3]), told)


def main() -> None:
    """Print one row a field and verb; words name the fields that are wanted."""
    for title, field in worst_fields().items():
        if sys.argv[1:] and not any(word in title for word in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "fleet"
            write_fleet(field, folder)
            for one in measure(field, folder):
                cost = f"{one.seconds:.2f} s | {one.megabytes} MB"
                print(f"| {title} | {one.verb.split()[0]} | {cost} |", one.code, flush=True)


if __name__ == "__main__":
    main()
