"""What would move: after a merge, a failure, an edit, or as time goes by."""
