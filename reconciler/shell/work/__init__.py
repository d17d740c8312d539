"""Long work, in pieces: here, by processes beside this one, or by a cluster."""
