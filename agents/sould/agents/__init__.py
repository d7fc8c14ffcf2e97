"""The soul: everything about an agent that needs no socket and no editor."""
