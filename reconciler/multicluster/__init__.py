"""The neutral APIs of SIG Multicluster: inventories of clusters, and what any scheduler decides."""
