"""What is kept on disk from one question to the next; nothing depends on it."""
