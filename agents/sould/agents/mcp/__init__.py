"""MCP: servers of tools that a session connects to."""
