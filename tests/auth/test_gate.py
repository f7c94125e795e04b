"""What counts as a bearer token in the `Authorization` header."""

import pytest

from coatcheck.tasks_store import Owner
from coatcheck.web.auth.authenticator import by_bearer
from coatcheck.web.auth.challenge import Challenger
from coatcheck.web.errors import Unauthenticated
from coatcheck.web.protocol.caller import Caller

SEEN = Caller(Owner("t", "p"))


@pytest.mark.parametrize(
    "authorization", ["Bearer abc", "bearer abc", "BEARER   abc", " Bearer abc ", "Bearer a.b-c_d~e+/=="]
)
def test_a_bearer_token_is_handed_on(authorization: str) -> None:
    """AUTH-1. Source: RFC 6750, section 2.1; RFC 9110, section 11.1."""
    authenticate = by_bearer(lambda token: Caller(Owner("t", token)), Challenger("", ()))
    assert authenticate(authorization).owner.principal == authorization.rsplit(maxsplit=1)[-1]


@pytest.mark.parametrize(
    ("authorization", "challenge"),
    [
        (None, 'Bearer resource_metadata="https://m.test", scope="a b"'),
        ("", 'Bearer resource_metadata="https://m.test", scope="a b"'),
        ("Basic eDp5", 'Bearer resource_metadata="https://m.test", scope="a b"'),
        ("Bearerabc", 'Bearer resource_metadata="https://m.test", scope="a b"'),
        ("Bearer", "invalid"),
        ("Bearer ", "invalid"),
        ("Bearer a b", "invalid"),
        ("Bearer a,Bearer b", "invalid"),
        ("Bearer \x00", "invalid"),
        ("Bearer é", "invalid"),
    ],
)
def test_anything_else_is_refused_before_it_is_looked_up(authorization: str | None, challenge: str) -> None:
    """AUTH-1, C75: what is no token and what is a bad one are told apart by the challenge alone."""
    authenticate = by_bearer(lambda _token: pytest.fail("looked up"), Challenger("https://m.test", ("a", "b")))
    with pytest.raises(Unauthenticated) as refused:
        authenticate(authorization)
    found = refused.value.headers["WWW-Authenticate"]
    assert found == challenge or (challenge == "invalid" and found.startswith('Bearer error="invalid_token", '))


def test_a_challenge_without_anything_to_say_is_still_one() -> None:
    authenticate = by_bearer(lambda _token: SEEN, Challenger("", ()))
    with pytest.raises(Unauthenticated) as refused:
        authenticate(None)
    assert refused.value.headers["WWW-Authenticate"] == "Bearer"
