"""Text to documents and back: strict YAML, JSON, and the canonical form of ours."""
