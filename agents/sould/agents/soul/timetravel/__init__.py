"""Time travel: going back to a checkpoint and returning, with the files as they were."""
