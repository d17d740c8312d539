"""Which clusters a rollout goes to now: upstream's sdk-go pkg/apis/cluster/v1alpha1."""
