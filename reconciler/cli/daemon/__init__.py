"""What a verb that serves a branch is made of."""
