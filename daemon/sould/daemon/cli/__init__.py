"""The command line: one small module for each group of commands. Never imported by the bridge or the daemon."""
