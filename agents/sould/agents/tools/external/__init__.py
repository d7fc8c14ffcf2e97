"""Tools that a client runs for the agent: what a client may register, and how it is called."""
