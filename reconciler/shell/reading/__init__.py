"""From commits and folders to worlds, and only what differs is read again."""
