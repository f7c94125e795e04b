"""TLS in front of a server that speaks none: what a platform's Redis with a self-signed certificate looks like."""

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOOK_S = 0.05
PIECE = 65_536


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine that nobody vouches for but itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "redis.example.test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return folder / "certificate.pem", folder / "key.pem"


class TlsProxy:
    """Takes TLS connections on a port of its own and hands them on to a unix socket."""

    def __init__(self, target: Path, certificate: Path, key: Path) -> None:
        self._target = target
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self._threads: list[threading.Thread] = []
        self._is_over = threading.Event()
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        self._listener.settimeout(LOOK_S)
        self._run(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._is_over.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        """One thread for both ways: a TLS session is not for two at a time."""
        with client, socket.socket(socket.AF_UNIX) as server:
            try:
                client.settimeout(5)
                with self._context.wrap_socket(client, server_side=True) as session:
                    server.connect(str(self._target))
                    self._pump(session, server)
            except OSError:
                return  # the client did not like the certificate, or one of the two has left

    def _pump(self, session: ssl.SSLSocket, server: socket.socket) -> None:
        session.settimeout(LOOK_S / 10)
        server.settimeout(LOOK_S / 10)
        while not self._is_over.is_set():
            for source, sink in ((session, server), (server, session)):
                try:
                    piece = source.recv(PIECE)
                except TimeoutError:
                    continue
                if not piece:
                    return
                sink.sendall(piece)

    def _run(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name="tls", daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()
