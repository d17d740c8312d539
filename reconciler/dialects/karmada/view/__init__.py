"""What files, conditions, commits and answers say of a binding."""
