"""One module for each family of MCP methods."""
