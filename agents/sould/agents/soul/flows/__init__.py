"""Flows: procedures drawn as graphs, run step by step by the agent; and the loop that repeats a task until it is done."""
