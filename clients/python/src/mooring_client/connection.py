"""Opens a connection to the service: directly or through the user's proxy, with the certificates that the user trusts."""

from __future__ import annotations

import base64
import http.client
import itertools
import re
import socket
import ssl
import threading
import urllib.request
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Dict, List, Mapping, Optional, Tuple
from urllib.parse import SplitResult, unquote, urlsplit

from .web_address import is_web_address

USER_AGENT = "mooring-client"
"""All machines send the same text, so that it identifies no machine."""

_ATTEMPT_SECONDS = 3.0
"""How long a connection to one of several addresses is awaited before the next one is tried."""

_LOOPBACK = re.compile(r"(localhost|127(\.[0-9]+){3}|\[::1\])(:[0-9]+)?")


class UnusableProxy(Exception):
    """The user's settings name a proxy of a kind that this client cannot use, such as SOCKS."""


def check_base_url(base_url: str) -> SplitResult:
    """Splits the URL of the service.

    Raises ValueError unless it is https, or http on a loopback address: license keys are not sent unencrypted over a network. It
    is also raised for a credential, for a query or a fragment, even an empty one, and for an invalid host or port.
    """
    no_url = ValueError("base_url must be a URL with https, or with http on a loopback address")
    try:
        parts = urlsplit(base_url.strip())
    except ValueError as error:
        raise no_url from error
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts))):
        raise no_url
    if "@" in parts.netloc or "?" in base_url or "#" in base_url:
        raise ValueError("base_url must hold no credential, query or fragment")
    if not is_web_address(parts.geturl()):
        raise ValueError("base_url must be a valid URL without spaces, with a port up to 65535 or none")
    return parts


@dataclass
class Connector:
    """Makes one connection for each call: a shared one would show which license reads the manifest.

    Raises ValueError for a `ca_file` that cannot be read or holds no certificate, unless `ssl_context` is given.
    """

    service: SplitResult
    ca_file: Optional[str] = None
    """A PEM file whose certificates are trusted in addition to those of the system."""
    ssl_context: Optional[ssl.SSLContext] = None
    """Is used instead of the context of the client: only what it trusts is trusted, and `ca_file` is not read."""
    proxies: Optional[Mapping[str, str]] = None
    """By scheme, such as `{"https": "http://proxy:8080"}`. None: the settings of the system, read for each call; `{}`: no proxy.

    A service on a loopback address is always called without one.
    """
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        # A wrong path is a mistake in the application, which must not look like a lost network.
        if self.ca_file is not None:
            self._context()

    def open(self, timeout_seconds: float) -> http.client.HTTPConnection:
        """Returns a connection that is not yet connected. Each step of it may last `timeout_seconds`. Raises UnusableProxy."""
        connection = self._make(timeout_seconds)
        connection.response_class = _Response
        # Not a public name: without it, `http.client` would try the addresses in its own way.
        setattr(connection, "_create_connection", _connect)
        return connection

    def _make(self, timeout_seconds: float) -> http.client.HTTPConnection:
        # Without a port, `http.client` would take the last part of an IPv6 address for it.
        host, port = self.service.hostname or "", self.service.port or (443 if self.service.scheme == "https" else 80)
        if self.service.scheme == "http":
            # Only a loopback address is reached by http.
            return http.client.HTTPConnection(host, port, timeout=timeout_seconds)
        # For a loopback address a proxy would connect to its own computer.
        proxy = None if _is_loopback(self.service) else self._proxy_of(host)
        if proxy is None:
            return http.client.HTTPSConnection(host, port, timeout=timeout_seconds, context=self._context())
        # The proxy itself is reached without TLS: with `set_tunnel`, TLS begins after the answer of the proxy to CONNECT.
        through = http.client.HTTPSConnection(
            proxy.hostname or "", proxy.port or 80, timeout=timeout_seconds, context=self._context()
        )
        through.set_tunnel(host, port, headers={"user-agent": USER_AGENT, **_authorization(proxy)})
        return through

    def _proxy_of(self, host: str) -> Optional[SplitResult]:
        if self.proxies is None:
            # The user may change the network while the application runs.
            address = None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get("https")
        else:
            address = self.proxies.get("https")
        if not address:
            return None
        proxy = urlsplit(address if "://" in address else f"http://{address}")
        if proxy.scheme != "http" or not proxy.hostname:
            raise UnusableProxy
        return proxy

    def _context(self) -> ssl.SSLContext:
        with self._lock:
            if self.ssl_context is None:
                context = ssl.create_default_context()
                context.minimum_version = ssl.TLSVersion.TLSv1_2
                # Python 3.13 sets this flag, which refuses the CAs of many companies although the user's system trusts them.
                context.verify_flags &= ~ssl.VERIFY_X509_STRICT
                if self.ca_file is not None:
                    _trust(context, self.ca_file)
                self.ssl_context = context
            return self.ssl_context


class _Response(http.client.HTTPResponse):
    """The response after any informational ones, such as 103 of a proxy, of which `http.client` itself skips 100 only.

    Reading an incomplete chunked body raises an error.
    """

    def begin(self) -> None:
        super().begin()
        while 101 < self.status < 200:
            self.headers = None  # type: ignore[assignment]  # Otherwise `begin` would read nothing further.
            super().begin()
        if self.chunked:
            self.fp = _WholeLines(self.fp)  # type: ignore[assignment]


class _WholeLines:
    """A stream that raises an error if it ends within a line: `http.client` accepts a chunked body whose last lines are cut."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self, limit: int) -> bytes:
        line = self._stream.readline(limit)
        if len(line) < limit and not line.endswith(b"\n"):
            raise http.client.IncompleteRead(line)
        return line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _connect(address: Tuple[str, int], timeout_seconds: float, *_: object) -> socket.socket:
    """Connects to one of the addresses of a name, IPv6 and IPv4 in turn.

    `socket.create_connection` awaits the first one for as long as the whole call may last, so no call would be answered on a network
    whose IPv6 leads nowhere.
    """
    targets = _in_turn(address)
    for target in targets[:-1]:
        try:
            connection = socket.create_connection(target, min(_ATTEMPT_SECONDS, timeout_seconds))
        except OSError:
            continue
        connection.settimeout(timeout_seconds)
        return connection
    return socket.create_connection(targets[-1], timeout_seconds)


def _in_turn(address: Tuple[str, int]) -> List[Tuple[str, int]]:
    by_family: Dict[int, List[Tuple[str, int]]] = {}
    for family, _, _, _, target in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
        by_family.setdefault(family, []).append((str(target[0]), int(target[1])))
    return [target for each in itertools.zip_longest(*by_family.values()) for target in each if target is not None]


def _trust(context: ssl.SSLContext, ca_file: str) -> None:
    try:
        context.load_verify_locations(ca_file)
    except ssl.SSLError as error:
        raise ValueError(f"ca_file must hold certificates in PEM: {ca_file}") from error
    except OSError as error:
        raise ValueError(f"ca_file cannot be read: {ca_file}") from error


def _is_loopback(service: SplitResult) -> bool:
    return _LOOPBACK.fullmatch(service.netloc.lower()) is not None


def _authorization(proxy: SplitResult) -> Dict[str, str]:
    if proxy.username is None:
        return {}
    credentials = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}
