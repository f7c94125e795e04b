"""Spans of the front door and the workers, where OpenTelemetry is configured."""
