"""Sessions on disk: found, listed, searched, read as conversations."""
