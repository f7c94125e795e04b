"""Some WSGI application, with the whole front door at a path of its own."""

from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.wrappers import Response

from coatcheck.wsgi import Door


def owner(environ):
    """Tell who signed in, by the application before."""
    name = environ.get("HTTP_COOKIE", "").partition("user=")[2]
    return ("acme", name, None) if name else None


def login(environ, start_response):
    """Sign in."""
    response = Response("in")
    response.set_cookie("user", environ["PATH_INFO"].rpartition("/")[2])
    return response(environ, start_response)


app = DispatcherMiddleware(login, {"/api/mcp": Door(owner)})
