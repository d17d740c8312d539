"""Time and memory of `reconciler validate` on the worst files that are known.

`python -m benchmarks.worst.files`; docs/limits.md shows what it printed.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

POLICY = (
    "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\n"
    "metadata: {name: p%d, namespace: d}\n"
    "spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]%s}\n"
)
MEASURED = """
import resource, sys
from reconciler.cli.main import run
run(["-C", sys.argv[1], "validate", sys.argv[2]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


def files() -> Mapping[str, tuple[str, str]]:
    """What each file is called, its name and its content."""
    head = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy"}
    fields = {f"field{i}": 1 for i in range(30)}
    long = {**head, "metadata": {"name": "p"}, "spec": {"pad": "a" * 10_000_000}}
    line = {**head, "metadata": {"name": "p"}, "spec": {"pad": "a" * 900_000, **fields}}
    unknown = "".join(f", field{i}: 1" for i in range(50_000))
    items = POLICY.replace("{apiVersion: v1, kind: ConfigMap}", ", ".join(["1"] * 90_000))
    faulty = ", wrong: 1, preemption: X, priority: a"
    return {
        "one good policy": ("good.yaml", POLICY % (0, "")),
        "10 MB of JSON on one line": ("long.json", json.dumps(long)),
        "30 faults on one line of 0.9 MB": ("line.json", json.dumps(line)),
        "50,000 unknown fields": ("fields.yaml", POLICY % (0, unknown)),
        "90,000 items of the wrong type": ("items.yaml", items % (0, "")),
        "999 documents with three faults each": (
            "documents.yaml",
            "---\n".join(POLICY % (i, faulty) for i in range(999)),
        ),
        "1,010 opening brackets before a manifest": (
            "deep.yaml",
            "[" * 1010 + "\n" + POLICY % (0, ""),
        ),
        "200,000 opening brackets": ("deeper.yaml", "apiVersion: " + "[" * 200_000),
    }


def main() -> None:
    """Print one row a file."""
    print(f"{'file':42} {'size':>8} {'time':>7} {'memory':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for title, (name, content) in files().items():
            Path(folder, name).write_text(content)
            started = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, folder, name],
                capture_output=True,
                text=True,
                check=True,
            )
            seconds = time.perf_counter() - started
            memory = done.stderr.split()[-1]
            print(f"{title:42} {len(content) / 1e6:5.1f} MB {seconds:5.2f} s {memory:>5} MB")


if __name__ == "__main__":
    main()
