"""The whole platform as its users meet it: over the wire, with real processes that die."""
