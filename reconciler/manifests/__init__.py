"""Text to manifests and back: YAML, JSON Schema, scopes of kinds, and the path of each output."""
