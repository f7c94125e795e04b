"""Starts the whole platform on one machine: Redis, then what the Procfile lists."""
