"""Clusters of one API as clusters of another: each API's table of what it can say of one."""
