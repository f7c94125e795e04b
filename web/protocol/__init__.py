"""What crosses the wire: envelope, headers, bodies and errors as bytes; no I/O and no store."""
