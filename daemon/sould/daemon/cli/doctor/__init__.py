"""`sould doctor`: many small checks, each with one sentence and how to fix what it found. None changes anything."""
