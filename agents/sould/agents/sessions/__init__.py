"""Sessions: one conversation about one project, living in the daemon, seen by any number of clients."""
