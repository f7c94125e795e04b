"""The MCP endpoint: one POST, one message.

Source: basic/transports/streamable-http.
"""

from functools import partial

from flask import Blueprint, Response, request

from web.auth import owner_of
from web.body import SOCKET, BodyReader
from web.dispatch import Answer, Dispatch, Waiting
from web.errors import MethodNotAllowed, WebError
from web.guards import EVENT_STREAM, JSON, Acceptable, Doorkeeper, acceptable, check_content_type
from web.json_reader import read_json
from web.streaming import HEADERS, client_has_left, event, in_one_piece, streamed

PATHS = ("/mcp", "/mcp/")
"""Both are answered alike: a redirect loses the body of a POST."""

VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")

CLIENT_LEFT = 499
"""Nobody reads this status but the access log, which has it from nginx."""

PREFLIGHT = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Max-Age": "600",
    "Vary": "Origin, Access-Control-Request-Headers",
}


def endpoint(dispatch: Dispatch, doorkeeper: Doorkeeper, bodies: BodyReader) -> Blueprint:
    """The routes of the MCP endpoint."""
    blueprint = Blueprint("mcp", __name__)

    def serve() -> Response:
        try:
            doorkeeper.check(request)
            if request.method == "OPTIONS" and (origin := doorkeeper.may_preflight(request)) is not None:
                return _preflight(origin)
            if request.method != "POST":
                raise MethodNotAllowed("This endpoint takes POST only")
            forms = acceptable(request.headers.get("Accept", ""))
            check_content_type(request)
            owner = owner_of(request)
            body = read_json(bodies.read(request))
        except WebError as fault:
            return _response(dispatch.refused(fault), Acceptable(json=True, event_stream=False))
        answer = dispatch.answer(body, owner, request.headers.get)
        if not isinstance(answer, Waiting):
            return _response(answer, forms)
        has_left = partial(client_has_left, request.environ.get(SOCKET))
        if answer.token is not None and forms.event_stream:
            return Response(streamed(answer.answering, answer.token, has_left), mimetype=EVENT_STREAM, headers=HEADERS)
        whole = in_one_piece(answer.answering, has_left)
        return Response(status=CLIENT_LEFT) if whole is None else _response(whole, forms)

    for path in PATHS:
        blueprint.add_url_rule(path, view_func=serve, methods=VERBS, provide_automatic_options=False)

    @blueprint.after_request
    def tell_browser(response: Response) -> Response:
        """A page that may call this server may also read its answers."""
        if (origin := doorkeeper.may_preflight(request)) is not None and "Origin" not in response.vary:
            response.headers["Access-Control-Allow-Origin"] = origin
            response.vary.add("Origin")
        return response

    return blueprint


def _response(answer: Answer, forms: Acceptable) -> Response:
    """Results go out in a form that the client takes; errors are always JSON, which clients read by their status."""
    if answer.message and answer.status == 200 and not forms.json:
        return Response(event(answer.message), mimetype=EVENT_STREAM, headers=HEADERS)
    response = Response(answer.message, answer.status, answer.headers, mimetype=JSON)
    if not answer.message:
        del response.headers["Content-Type"]
    return response


def _preflight(origin: str) -> Response:
    """What a browser asks before it sends a request of another page."""
    response = Response(status=204, headers=PREFLIGHT)
    del response.headers["Content-Type"]
    response.headers["Access-Control-Allow-Origin"] = origin
    if asked := request.headers.get("Access-Control-Request-Headers"):
        response.headers["Access-Control-Allow-Headers"] = asked
    return response
