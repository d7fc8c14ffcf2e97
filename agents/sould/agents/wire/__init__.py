"""Wire 1.10: message types, the session's channel, its journal, and the model context folded from it."""
