"""The daemon process: its server, its life, and what it does for its clients."""
