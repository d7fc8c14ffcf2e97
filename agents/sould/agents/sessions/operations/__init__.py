"""What can be done with a session that is no turn: each operation with its typed result, the same for every caller."""
