"""The handlers of the dispatch table: typed parameters in, JSON out. One file for each group of methods."""
