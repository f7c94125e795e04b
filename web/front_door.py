"""Flask, without what no route of ours needs of it."""

from collections.abc import Callable
from typing import Any

from flask import Flask, Request
from werkzeug.routing import MapAdapter


class FrontDoor(Flask):
    """Finds a route by its path alone, and calls its view as it is. Together this is a tenth of what a poll costs."""

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """What finds the route: no host, port or subdomain plays a part, and no address is ever built."""
        if request is None:
            return None
        environ = request.environ
        path: str = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")  # as WSGI hands it over
        return self.url_map.bind("", path_info=path, default_method=environ["REQUEST_METHOD"])

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The view itself: none is a coroutine."""
        return func
