"""The turns of a session: asked for, queued, run, interrupted and recovered."""
