"""What strangers may do to the branches of a repository, held against who signed what and where."""
