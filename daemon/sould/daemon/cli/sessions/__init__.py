"""`sould sessions`: list, search, read, export, fork, archive, delete and prune sessions. The daemon does it all."""
