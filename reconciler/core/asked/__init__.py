"""One object asked alone: the pass over what it reads, or why that takes the whole pass."""
