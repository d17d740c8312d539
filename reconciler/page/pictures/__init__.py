"""Pictures of what moved: shapes for templates, with the same in words and numbers."""
