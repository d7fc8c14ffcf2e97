"""The edit log of a project, and what it comes to: who changed which file, and what of that is under review."""
