"""Joins an MCP host that starts subprocesses to a server that speaks HTTP."""
