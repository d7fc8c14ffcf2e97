"""`sould editor-mcp`: what editors know, served to other agents over MCP, on standard streams or HTTP."""
