"""The web server: MCP over HTTP, in front of the task store and the workers."""
