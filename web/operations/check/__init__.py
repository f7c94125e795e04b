"""Check every part of a deployment: `coatcheck check`."""
