"""The calls of our functions that questions, passes and decisions take, held by a record."""
