"""The version of the distribution, which `pyproject.toml` reads from here."""

VERSION = "0.1.0"
