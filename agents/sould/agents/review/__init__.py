"""What the agent changed: the store of old texts and the ledger. Pure state; no editor, no socket (D18)."""
