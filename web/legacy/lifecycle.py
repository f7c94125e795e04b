"""`initialize`, `ping` and `logging/setLevel`."""

from typing import Final

from marshmallow import fields
from marshmallow.validate import OneOf

from coatcheck.web.legacy.request import LegacyRequest
from coatcheck.web.legacy.revisions import NEWEST_LEGACY, REVISIONS
from coatcheck.web.legacy.serialization import initialize_result
from coatcheck.web.protocol.call import Params
from coatcheck.web.settings.web import ServerSettings

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class InitializeParams(Params):
    """Schema of the parameters of `initialize`. The client's own description is not kept: there are no sessions."""

    protocol_version = fields.String(required=True, data_key="protocolVersion")


class LevelParams(Params):
    """Schema of the parameters of `logging/setLevel`."""

    level = fields.String(required=True, validate=OneOf(LOG_LEVELS))


INITIALIZE_PARAMS: Final = InitializeParams()
LEVEL_PARAMS: Final = LevelParams()


class Lifecycle:
    """Serves the methods of connections."""

    def __init__(self, settings: ServerSettings, *, lists_tasks: bool) -> None:
        self._server_info = settings.workers.server_info
        self._instructions = settings.web.instructions
        self._lists_tasks = lists_tasks

    def initialize(self, request: LegacyRequest) -> dict[str, object]:
        """Return the revision to use: the requested one, if it is a legacy revision.

        Source: 2025-11-25, basic/lifecycle, "Version Negotiation".
        """
        wanted = request.call.params(INITIALIZE_PARAMS)["protocol_version"]
        revision = REVISIONS.get(wanted, NEWEST_LEGACY)
        return initialize_result(revision, self._server_info, self._instructions, lists_tasks=self._lists_tasks)

    def ping(self, _request: LegacyRequest) -> dict[str, object]:
        """Return an empty result."""
        return {}

    def set_level(self, request: LegacyRequest) -> dict[str, object]:
        """Accept a level; no log messages are sent to clients. Source: 2025-11-25, server/utilities/logging."""
        request.call.params(LEVEL_PARAMS)
        return {}
