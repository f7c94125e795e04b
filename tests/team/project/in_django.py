"""A team's Django project, with the MCP endpoint beside what it has."""

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

from coatcheck.wsgi import django_view

settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "in_django.reads_bodies",
    ],
)


def reads_bodies(get_response):
    """Read the body of each request before its view, as middleware that logs does."""

    def middleware(request: HttpRequest) -> HttpResponse:
        assert isinstance(request.body, bytes)
        return get_response(request)

    return middleware


def owner(request: HttpRequest) -> tuple[str, str, list[str] | None] | None:
    """Tell who is signed in."""
    return ("acme", request.session["user"], None) if "user" in request.session else None


def login(request: HttpRequest, name: str) -> HttpResponse:
    """Sign in."""
    request.session["user"] = name
    return HttpResponse(name)


urlpatterns = [path("api/mcp", django_view(owner)), path("login/<name>", login)]

application = get_wsgi_application()
