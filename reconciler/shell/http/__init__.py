"""What is answered over HTTP, and to whom."""
