"""`sould debug`: look inside. Reads files; the daemon need not run."""
