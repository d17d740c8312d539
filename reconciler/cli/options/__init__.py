"""Options that verbs share, and what they stand for: values, files, the environment."""
