"""Time travel: messages to the past (D-Mail), going back and returning, and the files as they were."""
