"""The soul: turns and steps, the tools of a step, agent specs, subagents, and what the model is told at the start."""
