"""A project: the files of one root, as all sessions and clients of the daemon share them."""
