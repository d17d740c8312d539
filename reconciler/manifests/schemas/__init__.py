"""Documents against the JSON Schema of their kind."""
