"""What is taken over of a live control plane: kinds of files, and decisions as state."""
