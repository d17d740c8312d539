"""What advice weighs and chooses."""
