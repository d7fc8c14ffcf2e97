"""Loops: a prompt that is repeated until the agent finds it complete, and what is kept and said of it."""
