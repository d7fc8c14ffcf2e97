"""A project's files: their review, the edit log, the one way to write them, and looking at directories."""
