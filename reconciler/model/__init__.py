"""What exists: identities, labels, quantities, clusters, manifests and the world they make up."""
