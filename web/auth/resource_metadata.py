"""Serve the metadata that tell clients which authorization server issues tokens for this server.

Source: RFC 9728; basic/authorization, "Authorization Server Location".
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from flask import Blueprint, Response

from coatcheck.web.protocol.serialization import compact_json

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


def metadata_url(resource: str) -> str:
    """Return the URL of a resource's metadata, between its host and its path. Source: RFC 9728, section 3.1."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path}"


def metadata(resource: str, issuer: str, scopes: Sequence[str], name: str) -> Blueprint:
    """Return the routes of the metadata. They are public, and web pages can read them."""
    blueprint = Blueprint("metadata", __name__)
    document = compact_json(
        {
            "resource": resource,
            "authorization_servers": [issuer],
            "scopes_supported": list(scopes),
            "bearer_methods_supported": ["header"],
            "resource_name": name,
        }
    )

    def serve() -> Response:
        headers = {"Cache-Control": "max-age=3600", "Access-Control-Allow-Origin": "*"}
        return Response(document, headers=headers, mimetype="application/json")

    # A proxy can forward the public path or a path of its own; clients that find nothing there try the root.
    for path in sorted({"", "/mcp", urlsplit(resource).path}):
        blueprint.add_url_rule(WELL_KNOWN + path, f"at{path}".replace("/", "_").replace(".", "_"), serve)
    return blueprint
