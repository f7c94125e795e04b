"""The front door as a view of Django."""

from collections.abc import Callable, Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from coatcheck.web.mounted import REQUEST, Door, of_request


def django_view(
    owner: Callable[[HttpRequest], tuple[str, str, Iterable[str] | None] | None] | None = None, *, waiting: int = 1
) -> Callable[..., HttpResponseBase]:
    """Return a view that is the MCP endpoint; `owner` is given Django's request. Otherwise as `Door`.

    It is exempt from the check of CSRF tokens: a page of another origin is refused by its `Origin`.
    """
    door = Door(None if owner is None else of_request(owner), waiting=waiting)

    def view(request: HttpRequest, *_: Any, **__: Any) -> HttpResponseBase:
        # Middleware can have read the body; the request hands it out again.
        environ = {**request.environ, "wsgi.input": request, REQUEST: request}
        begun: list[tuple[str, list[tuple[str, str]]]] = []

        def start(status: str, headers: list[tuple[str, str]], *_: object) -> Callable[[bytes], object]:
            begun.append((status, headers))
            return bytes

        body = door.endpoint(environ, start)
        [(status, headers)] = begun
        code, reason = status.split(" ", 1)
        kind = StreamingHttpResponse if not isinstance(body, tuple | list) else HttpResponse
        response: HttpResponseBase = kind(body, status=int(code), reason=reason)
        del response.headers["Content-Type"]
        for name, value in headers:
            response.headers[name] = ", ".join(filter(None, (response.headers.get(name), value)))
        return response

    exempt: Callable[..., HttpResponseBase] = csrf_exempt(view)
    return exempt
