"""The version of this client, for servers and for people."""

from importlib.metadata import PackageNotFoundError, version


def client_version() -> str:
    """The installed distribution's version; "0" in a checkout that is not installed."""
    try:
        return version("coatcheck")
    except PackageNotFoundError:
        return "0"
