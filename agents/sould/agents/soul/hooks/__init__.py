"""Hooks: the user's programs, and clients, that watch what an agent does and may forbid it."""
