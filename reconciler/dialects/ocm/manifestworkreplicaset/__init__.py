"""ManifestWorkReplicaSets: upstream's pkg/work/hub/controllers/manifestworkreplicasetcontroller."""
