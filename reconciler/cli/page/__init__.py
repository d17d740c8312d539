"""What the page computes, in a process of its own."""
