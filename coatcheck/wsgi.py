"""The front door inside a WSGI application of a team's own: Flask, Django, or any other.

`application` is the whole of it, for any WSGI server; `Door`, `flask_blueprint` and `django_view` are given a function
that tells who calls.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from coatcheck.web.mounted import Door, flask_blueprint

if TYPE_CHECKING:
    from coatcheck.web.in_django import django_view

    application: Door

__all__ = ["Door", "application", "django_view", "flask_blueprint"]

_application = cache(Door)


def __getattr__(name: str) -> Any:
    """Read the settings when `application` is used, and import Django when its view is."""
    if name == "application":
        return _application()
    if name == "django_view":
        return import_module("coatcheck.web.in_django").django_view
    raise AttributeError(f"module 'coatcheck.wsgi' has no attribute {name!r}")
