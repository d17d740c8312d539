"""From what kubectl prints to the files that are read here, and to the state that passes leave."""
