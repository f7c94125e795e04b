"""The way to a server that the environment names: a proxy, and the certificates to trust."""

import ipaddress
import os
import ssl
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from coatcheck.client.errors import InvalidSettings


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the variable that names it."""

    variable: str
    url: str


def transport_to(server: str, proxy: Proxy | None) -> httpx2.AsyncHTTPTransport:
    """Return the transport to this server. Raises InvalidSettings, which names the variable that is wrong."""
    certificates = _certificates(urlsplit(server))
    try:
        return httpx2.AsyncHTTPTransport(verify=certificates, proxy=None if proxy is None else proxy.url)
    except (ImportError, ValueError, httpx2.InvalidURL) as fault:
        assert proxy is not None
        # The words of the library are left out: they may hold the password of the proxy.
        needs = "it needs the Python package socksio" if isinstance(fault, ImportError) else "it is no http address"
        raise InvalidSettings(
            f"The proxy that {proxy.variable} names cannot be used ({needs}). "
            f"Correct {proxy.variable}, or add {urlsplit(server).hostname} to NO_PROXY."
        ) from None


def proxy_to(server: str) -> Proxy | None:
    """Return the proxy that the environment names for this server. Loopback is reached without one."""
    parts, proxies = urlsplit(server), getproxies()
    host = parts.hostname or ""
    scheme = parts.scheme if proxies.get(parts.scheme) else "all"
    url = proxies.get(scheme)
    if not url or is_loopback(host) or proxy_bypass(parts.netloc) or _is_in(host, proxies.get("no", "")):
        return None
    variables = (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    variable = next((name for name in variables if os.environ.get(name)), "the configuration of this system")
    return Proxy(variable, url if "://" in url else f"http://{url}")


def is_loopback(host: str) -> bool:
    """Return whether the host is this machine, by its name or address alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _is_in(host: str, no_proxy: str) -> bool:
    """Return whether one of the networks that NO_PROXY lists has the address."""
    try:
        address = ipaddress.ip_address(host)
        return any(
            address in ipaddress.ip_network(part.strip(), strict=False) for part in no_proxy.split(",") if "/" in part
        )
    except ValueError:
        return False


def _certificates(parts: SplitResult) -> ssl.SSLContext:
    """Return what a certificate is checked with. Raises InvalidSettings."""
    if parts.scheme == "http" and is_loopback(parts.hostname or ""):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which trusts nobody, and is not used
    file, folders = os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", "")
    why = "there is no such folder"
    try:
        if file or not folders or any(map(os.path.isdir, folders.split(os.pathsep))):
            return httpx2.create_ssl_context()
    except OSError as fault:
        if fault.filename and fault.filename == os.environ.get("SSLKEYLOGFILE"):
            raise InvalidSettings(
                f"The file that SSLKEYLOGFILE names, {fault.filename}, cannot be written: {fault.strerror}. "
                "Correct the variable, or unset it."
            ) from fault
        why = fault.strerror or "it holds no certificate"
        if isinstance(fault, ssl.SSLError):
            why = "it holds no certificate that can be read"
    variable, path = ("SSL_CERT_FILE", file) if file else ("SSL_CERT_DIR", folders)
    raise InvalidSettings(
        f"The certificates that {variable} names, {path}, cannot be read: {why}. "
        "Correct the variable, or unset it to trust what this system trusts."
    )
