"""The Agent Client Protocol: one connection as a client of the session host, Wire projected to `session/update`."""
