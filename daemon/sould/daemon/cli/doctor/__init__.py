"""`sould doctor`: many small checks, each with one sentence and how to mend what it found. None changes anything."""
