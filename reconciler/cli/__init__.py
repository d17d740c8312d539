"""The command line: one file a verb; the only place that reads arguments and the environment."""
