"""What manifests say of one another: names that name nothing, selectors that select nothing."""
