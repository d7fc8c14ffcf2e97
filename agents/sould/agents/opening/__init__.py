"""What a client says when it opens a session, and what it offers to it."""
