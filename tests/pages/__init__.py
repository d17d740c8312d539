"""Pages with files and consoles: all of it is written and run, and must be as shown."""
