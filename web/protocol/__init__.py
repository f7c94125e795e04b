"""Messages on the wire: envelope, headers, body, serialization and response types. No I/O and no store."""
