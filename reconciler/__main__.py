"""`python -m reconciler` is the `reconciler` command."""

from reconciler.cli.main import main

if __name__ == "__main__":
    main()
