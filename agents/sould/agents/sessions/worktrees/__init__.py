"""Git worktrees that sessions have of their own: made from a repository of the user's, kept known, taken away."""
