"""One JSON-RPC message in, its response out: the endpoint, the dispatcher and error responses."""
