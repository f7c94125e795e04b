"""Processes, the store and the broker fail in every way we know; the promises hold."""
