"""The official SDK's OAuth client logs in: from the first refusal to the answer, without being told anything."""

from urllib.parse import parse_qs, urlsplit

import anyio
import httpx
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.auth.conftest import start_door
from tests.auth.provider import Provider
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.web.door import encode, headers_of, request

REDIRECT = "http://127.0.0.1:1/callback"


class Memory:
    """Where the client keeps what it was given."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def log_in(url: str, memory: Memory) -> list[dict[str, object]]:
    """The answers to two calls of a client that starts without a token; the second needs more than the first."""
    went_to: list[str] = []

    async def open_browser(address: str) -> None:
        response = await anyio.to_thread.run_sync(lambda: httpx.get(address, trust_env=False))
        went_to.append(response.headers["Location"])

    async def come_back() -> AuthorizationCodeResult:
        found = parse_qs(urlsplit(went_to[-1]).query)
        return AuthorizationCodeResult(code=found["code"][0], state=found["state"][0], iss=found["iss"][0])

    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(REDIRECT)], token_endpoint_auth_method="none")
    auth = OAuthClientProvider(url, metadata, memory, open_browser, come_back)
    answers = []
    async with httpx2.AsyncClient(auth=auth, trust_env=False) as client:
        for tool in ("greet", "peek"):
            message = request("tools/call", {"name": tool, "arguments": {}})
            response = await client.post(url, content=encode(message), headers=headers_of(message))
            answers.append(response.json())
    return answers


def test_the_official_client_finds_its_way_from_the_first_refusal(platform: Platform, provider: Provider) -> None:
    """AUTH-1, AUTH-2, C102, C104: also to what takes more than it asked for at first."""
    port = free_port()
    url = start_door(
        platform,
        port=port,
        COATCHECK_AUTH="oauth",
        COATCHECK_OAUTH_ISSUER=provider.issuer,
        COATCHECK_PUBLIC_URL=f"http://127.0.0.1:{port}",
        COATCHECK_SCOPES="tasks:write",
    )
    memory = Memory()
    with platform.webs[-1]:
        answers = anyio.run(log_in, url, memory)
    texts = [answer["result"]["content"][0]["text"] for answer in answers]  # type: ignore[index]
    assert texts == ["hello", "peeked"]
    assert memory.tokens is not None
    assert "reports:read" in str(memory.tokens.scope)
