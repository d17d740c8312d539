"""What kubectl and karmadactl have verbs for, and people do here by a file or another verb.

Source: kubectl pkg/cmd/cmd.go `NewKubectlCommand`; karmada pkg/karmadactl/karmadactl.go.
"""

from collections.abc import Mapping

COMMIT = "put the manifest into a file and commit it, and the next pass heeds it"
NO_SERVER = "there is no API server: the repository is it"
IN_CLUSTER = "pods are in the clusters: ask one of them with kubectl --context"
NEW_CLUSTER = "write the manifest of the cluster into a file below clusters/ and commit it"
NO_CLUSTER = (
    "remove the file of the cluster and commit; "
    "reconciler simulate --remove NAME says first what would move"
)
BY_HAND = "edit its file and commit"

ANSWERS: Mapping[str, str] = {
    "addons": f"{NO_SERVER}; what an add-on reports, such as scores, comes from files",
    "annotate": f"{BY_HAND}; reconciler label changes labels",
    "api-versions": "reconciler api-resources lists every kind with its version",
    "apply": f"{COMMIT}; reconciler plan says first what it would move",
    "attach": f"{IN_CLUSTER}; reconciler get says which have it",
    "auth": "the forge and the keys settle who may write; reconciler check tries access",
    "autoscale": "write a HorizontalPodAutoscaler into a file; reconciler scale sets replicas once",
    "certificate": NO_SERVER,
    "cluster-info": "reconciler status says how all stands, reconciler get clusters what there is",
    "config": "-C DIR says which repository is asked, reconciler.yaml what decisions depend on",
    "cp": IN_CLUSTER,
    "create": f"{COMMIT}; reconciler explain KIND says what it may hold",
    "debug": f"{IN_CLUSTER}; reconciler why says why an object is where it is",
    "deinit": "stop the daemon, and remove the folder of outputs with a commit",
    "delete": (
        "remove its file, or its document in the file, and commit; "
        "reconciler plan says first what that would move"
    ),
    "edit": (
        "open its file, which reconciler describe names, and commit it; "
        "reconciler plan --worktree says what that would move"
    ),
    "exec": IN_CLUSTER,
    "expose": "write a Service into a file and commit it",
    "interpret": "reconciler validate checks a customization in its file",
    "join": NEW_CLUSTER,
    "kustomize": "commit what kustomize build prints: files are read as they stand",
    "logs": f"{IN_CLUSTER}; reconciler events tells what was decided, and why",
    "options": "reconciler --help lists those of all verbs",
    "patch": f"{BY_HAND}; reconciler scale, label, taint and cordon edit a line of it",
    "plugin": "there are none; docs/extending.md says how filters, scores and dialects are added",
    "port-forward": IN_CLUSTER,
    "promote": "reconciler import takes objects of a cluster over into files",
    "proxy": f"{NO_SERVER}; reconciler serve shows a page",
    "register": NEW_CLUSTER,
    "replace": COMMIT,
    "rollout": (
        "git revert undoes a decision or an edit, reconciler history lists them, "
        "reconciler rebalance schedules afresh, reconciler suspend and resume pause and go on"
    ),
    "set": f"{BY_HAND}; reconciler scale and reconciler label edit a line of it",
    "token": NO_SERVER,
    "unjoin": NO_CLUSTER,
    "unregister": NO_CLUSTER,
}
"""Verb to what does it here, which follows "there is no verb ...; " in a sentence."""
