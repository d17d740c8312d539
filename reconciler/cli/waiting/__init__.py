"""`wait`: what is waited for, and the wait itself."""
