"""How a fleet stands: what is where, how it does, what is free."""
