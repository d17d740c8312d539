"""What was decided over time, told from commits."""
