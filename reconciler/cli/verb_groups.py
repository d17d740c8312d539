"""The verbs of the command, in the groups in which `--help` lists them."""

from collections.abc import Mapping

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Begin": {
        "demo": "Show the main job on a scratch repository, step by step.",
        "init": "Write the files of a fleet: the example, or a part of it.",
        "import": "Write what kubectl prints of a live control plane into files.",
        "check": "Try what the daemon needs: git, access, keys, clock, permissions.",
    },
    "Ask": {
        "get": "Print objects of the repository: clusters, bindings, policies, rebalancers, ...",
        "describe": "Print all that is known of an object: fields, conditions, decision, events.",
        "status": "Print how a repository stands: last pass, faults, suspended, rebalancers.",
        "top": "Print what clusters have, what is placed on them, what is free.",
        "tree": "Print what hangs on a policy or a placement, down to the clusters.",
        "events": "Print events as upstream records them, told from the commits.",
        "wait": "Wait until objects are as they are to be: a condition, a value, there or gone.",
        "api-resources": "Print every kind that is read, its names, and who writes it.",
        "explain": "Print what the fields of a kind mean, as its schema has them.",
    },
    "Understand decisions": {
        "why": "Explain for each cluster why an object is there, or why not.",
        "history": "Print what was decided about an object over time, and whose commit caused it.",
        "blame": "Show whose commit put an object on each of its clusters.",
        "verify": "Prove a history: compute each decision again, compare byte for byte.",
        "report": "Write the fleet as one page that can be read offline and sent along.",
    },
    "Look ahead": {
        "validate": "Check manifests, in a repository or in any folder.",
        "plan": "Show what merging a branch would move, and why.",
        "advise": "Say which rebalances are worth it, and what merging them would move.",
        "simulate": "Show what would move if a cluster failed, a workload grew, ...",
        "render": "Print the manifests that an object comes to on its clusters.",
    },
    "Change, by files to commit": {
        "rebalance": "Write a WorkloadRebalancer, and say what it would move.",
        "approve": "Write what approves a stage of a staged update run.",
        "suspend": "Leave an object, or everything, where it is.",
        "resume": "Let what was suspended be scheduled again.",
        "scale": "Set the replicas of workloads in their files, and say what it would move.",
        "label": "Set or remove labels of objects in their files, and say what it would move.",
        "cordon": "Keep clusters from taking anything new, by a taint in their files.",
        "drain": "Move everything away from clusters, and say what is left on them.",
        "uncordon": "Let clusters that were cordoned or drained take something new again.",
        "scores": "Write scores of clusters from a table, or from what is free on them.",
        "taint": "Set or remove taints of clusters in their files, and say what it would move.",
    },
    "Run": {
        "reconcile": "Run one pass: decide, commit, move the branch.",
        "run": "Run the daemon: a pass whenever the branch moves or a moment comes.",
        "serve": "Serve the page of a branch, for people to look at; it only reads.",
    },
    "Beside": {
        "schema": "Print the JSON Schema of a kind, or of all, for editors.",
        "completion": "Print the completion script of bash, zsh or fish.",
        "version": "Print the version.",
    },
}
"""Title of a group to its verbs, each with its line; a file in `cli/verbs` is loaded when used."""

VERBS: Mapping[str, str] = {verb: line for group in GROUPS.values() for verb, line in group.items()}
"""Verb to its line, of all groups."""
