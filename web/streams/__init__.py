"""Connections to the store, and how a change of a task reaches who waits for it."""
