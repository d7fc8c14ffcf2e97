"""Language servers run by the daemon, on demand, for trusted projects: what agents ask of them, and what keeps them small and few."""
