"""From two trees of files to a world: which files are input, which are valid, what stands in."""
