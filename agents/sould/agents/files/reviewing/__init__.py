"""What is decided about changes under review, and all that decides with it: users, clients' buffers, git, the disk."""
