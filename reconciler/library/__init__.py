"""What `import reconciler` offers: a repository or a folder, as typed values; see docs/library.md.

The command line is made of it, so both answer alike.
"""
