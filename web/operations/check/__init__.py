"""Tries every part of a deployment and says what is wrong with it: `coatcheck check`."""
