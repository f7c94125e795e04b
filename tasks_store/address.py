"""What `REDIS_URL` may say."""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from redis import Redis

NOT_UNDERSTOOD = "cannot be understood; special characters in a password are written as %XX, and a port is a number"


@dataclass(frozen=True, slots=True)
class SentinelAddress:
    """`redis+sentinel://[:password@]host:port[,host:port…]/service[/db]`, as most Redis clients write it."""

    hosts: tuple[tuple[str, int], ...]
    service: str
    database: int
    username: str | None
    password: str | None
    sentinel_password: str | None

    @classmethod
    def of(cls, url: str) -> "SentinelAddress":
        """The address in its parts. Raises ValueError when it cannot be understood."""
        parts = urlsplit(url)
        service, _, database = parts.path.strip("/").partition("/")
        hosts = []
        for piece in parts.netloc.rpartition("@")[2].split(","):
            host, _, port = piece.partition(":")
            hosts.append((host, int(port or 26379)))
        return cls(
            tuple(hosts),
            service,
            int(database or 0),
            unquote(parts.username) if parts.username else None,
            unquote(parts.password) if parts.password else None,
            parse_qs(parts.query).get("sentinel_password", [None])[0],
        )


def fault_of(url: str) -> str:
    """What is wrong with the address, without a word of it that may be secret; nothing when it can be used."""
    try:
        scheme = urlsplit(url).scheme
        if scheme in ("redis", "rediss", "unix"):
            Redis.from_url(url)
        elif scheme == "redis+cluster":
            Redis.from_url(url.replace("redis+cluster://", "redis://", 1))
        elif scheme == "redis+sentinel":
            if not SentinelAddress.of(url).service:
                return "names no service; write redis+sentinel://host:26379,host:26379/service/0"
        else:
            return "has an unknown scheme; use redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://"
    except ValueError:
        return NOT_UNDERSTOOD
    return ""
