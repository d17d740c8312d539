"""What commits and answers say of a placement."""
