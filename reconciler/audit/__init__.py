"""Questions about the past and the future, each answered by asking `reconcile`."""
