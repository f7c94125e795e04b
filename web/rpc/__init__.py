"""The MCP endpoint: from an HTTP request to a JSON-RPC response."""
