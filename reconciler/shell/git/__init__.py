"""Git, hardened: the only package that runs git, and nothing from the repository is executed."""
