"""What clients of every protocol share of the inbox: what waits for a person in all projects, news of it, and its answers."""
