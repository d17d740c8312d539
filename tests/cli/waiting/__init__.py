"""Waiting for what passes bring, as users meet it."""
