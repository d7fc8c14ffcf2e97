"""What is kept of a session: its journal, the channel that carries it to subscribers, and the context folded from it."""
