"""Subagents: agents that another agent starts, each with a context and a journal of its own (D32)."""
