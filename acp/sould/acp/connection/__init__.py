"""One client and the sessions it shows."""
