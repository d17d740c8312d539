"""What an agent says of a ManifestWork: upstream's pkg/work/spoke."""
