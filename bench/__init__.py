"""Measurements of Coatcheck beside its bare ceilings and beside fastmcp-tasks, in one run on one machine."""
