"""The check of a deployment, run as an operator runs it."""
