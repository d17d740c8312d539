"""KubeFleet: placements, their snapshots and bindings, the scheduler and the rollout."""
