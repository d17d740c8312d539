"""The daemon: when it looks, what it says of itself, how it ends."""
