"""Room in clusters that is promised and not yet seen: reservations, and the ledger of a round."""
