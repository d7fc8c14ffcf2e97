"""Compaction: when the window fills, a summary takes the place of what it covers, and nothing is lost from the journal."""
