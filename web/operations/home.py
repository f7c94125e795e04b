"""The home page at `/`: a description, and links to Flower and the documentation."""

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from flask import Blueprint, Response, render_template_string, request, send_from_directory
from flask.typing import ResponseReturnValue

from coatcheck.web.errors import RequestForbidden
from coatcheck.web.protocol.request_guard import RequestGuard
from coatcheck.web.settings.auth import LOOPBACK_HOSTS
from coatcheck.web.settings.web import WebSettings

CHECKOUT: Final = Path(__file__).resolve().parents[2]

DOCUMENTS: Final = tuple(
    name
    for name in ("README.md", *sorted(f"docs/{page.name}" for page in (CHECKOUT / "docs").glob("*.md")))
    if (CHECKOUT / name).is_file()
)
"""The documentation files that are served; none where only the packages are installed."""

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

HOME_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{ name }}</title>
<style>
  body { font: 1.05rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1.5rem }
  h1 { margin-bottom: 0 }
  code { background: #eef1f4; padding: .15rem .4rem; border-radius: .25rem; overflow-wrap: anywhere }
  a { color: #1b5e8c }
</style>
<h1>{{ name }}</h1>
<p>This is a server of the Model Context Protocol. A tool call becomes a durable task, which waits for as long as it
takes, also for a person.</p>
<p>Clients connect to</p>
<p><code>{{ endpoint }}</code></p>
<p>which speaks to programs: a browser has nothing to see there.</p>
{% if flower %}<p><a href="{{ flower }}">Flower</a> shows the work and the workers on this machine.</p>
{% endif %}
{%- if documents %}<p>Documentation:
{%- for document in documents %}
<a href="/{{ document }}">{{ document }}</a>{{ "." if loop.last else "," }}
{%- endfor %}</p>
{% endif %}
</html>
"""


def home(settings: WebSettings, name: str, guard: RequestGuard) -> Blueprint:
    """Return the routes of the page and the documentation. Flower is linked where only this machine can reach it."""
    blueprint = Blueprint("home", __name__)
    is_local = settings.host in LOOPBACK_HOSTS and not settings.public_url and settings.flower_port.isdecimal()

    @blueprint.before_request
    def check() -> ResponseReturnValue | None:
        try:
            guard.check(request)
        except RequestForbidden as fault:
            return Response(f"{fault}\n", 403, mimetype="text/plain")
        return None

    @blueprint.get("/")
    def page() -> ResponseReturnValue:
        here = urlsplit(request.host_url)
        host = here.netloc.removesuffix(f":{here.port}")
        text = render_template_string(
            HOME_PAGE,
            name=name,
            endpoint=settings.resource or f"{request.host_url}mcp",
            flower=f"http://{host}:{settings.flower_port}" if is_local and here.hostname in LOOPBACK_HOSTS else "",
            documents=DOCUMENTS,
        )
        return Response(text, headers=SECURITY_HEADERS, mimetype="text/html")

    def document(name: str) -> ResponseReturnValue:
        response = send_from_directory(CHECKOUT, name, mimetype="text/plain")
        response.headers.update(SECURITY_HEADERS)
        return response

    for number, path in enumerate(DOCUMENTS):
        blueprint.add_url_rule(f"/{path}", f"document{number}", document, defaults={"name": path})
    return blueprint
