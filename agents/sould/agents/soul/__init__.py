"""The soul: turns and steps, the tools of a step, compaction, and what the model is told at the start."""
