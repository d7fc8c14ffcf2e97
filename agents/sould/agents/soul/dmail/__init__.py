"""Messages of agents to earlier points of their own, or to one another."""
