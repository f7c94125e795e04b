"""What operators read at `/metrics`."""
