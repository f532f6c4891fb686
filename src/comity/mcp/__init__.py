"""An MCP server: tools for agents that ask web sites what programs may do, and read them accordingly (`comity mcp`)."""
