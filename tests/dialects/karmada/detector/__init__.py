"""What stands about detection: claims, and what they read."""
