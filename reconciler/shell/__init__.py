"""Effects, thin: the clock, git, files and processes. Decisions are made in `core`."""
