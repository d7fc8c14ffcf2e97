"""What a client does for the agent: files in its buffers, tools it runs, MCP servers it brings or serves."""
