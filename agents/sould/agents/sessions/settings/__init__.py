"""What can be chosen for a session, and what is remembered of it."""
