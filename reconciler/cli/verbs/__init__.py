"""One file a verb: its options, its examples, and what it asks of whom."""
