"""MCP methods of the current revision, one module for each family."""
