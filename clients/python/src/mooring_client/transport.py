"""Makes calls, each limited to ten seconds and 256 KiB. They follow no redirect and send no cookie."""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
import threading
from typing import Callable, Dict, Mapping, Optional, Set, Union

from .answers import BUSY, Answer, NoAnswer
from .clock import Clock
from .connection import USER_AGENT, Connector, UnusableProxy
from .json_text import to_json
from .time_text import parse_retry_after

CALL_TIMEOUT_SECONDS = 10.0
ANSWER_LIMIT_BYTES = 256 * 1024

Wait = Callable[[str, threading.Event, float], bool]
"""Waits for the end of a call, for at most this number of seconds, and returns whether it has ended. Takes the path of the call."""


def wait_for_end(_path: str, ended: threading.Event, seconds: float) -> bool:
    """Waits by the clock of the system."""
    return ended.wait(seconds)


class Transport:
    """The calls of one client. They may be made by several threads."""

    def __init__(self, connector: Connector, clock: Clock, wait: Wait) -> None:
        self._connector = connector
        self._clock = clock
        self._wait = wait
        self._lock = threading.Lock()
        self._running: Set[_Exchange] = set()
        self._is_closed = False

    def call(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, object]] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Union[Answer, NoAnswer]:
        """Makes a call. Never raises."""
        exchange = _Exchange(self._connector, self._clock, method, path, body, headers or {})
        with self._lock:
            if self._is_closed:
                return NoAnswer("closed")
            self._running.add(exchange)
        # A thread of its own: a look-up of a name cannot be interrupted, and the timeout of a socket does not limit a whole call.
        try:
            threading.Thread(target=exchange.run, name="mooring-client-call", daemon=True).start()
        except RuntimeError:  # The system, or a process that is ending, allows no further thread.
            exchange.end(NoAnswer("no thread"))
        if not self._wait(path, exchange.ended, CALL_TIMEOUT_SECONDS):
            exchange.end(exchange.no_answer("timeout"))
        with self._lock:
            self._running.discard(exchange)
        return exchange.result

    def close(self) -> None:
        """Ends the running calls; each later one has no answer."""
        with self._lock:
            self._is_closed = True
            running = list(self._running)
        for exchange in running:
            exchange.end(exchange.no_answer("closed"))


class _Exchange:
    """One request and its response."""

    def __init__(
        self,
        connector: Connector,
        clock: Clock,
        method: str,
        path: str,
        body: Optional[Mapping[str, object]],
        headers: Mapping[str, str],
    ) -> None:
        self._connector = connector
        self._clock = clock
        self._method = method
        self._path = connector.service.path.rstrip("/") + path
        self._body = None if body is None else to_json(body).encode()
        self._headers = headers
        self._lock = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self.ended = threading.Event()
        self._has_response = False
        self._retry_after: Optional[float] = None
        self.result: Union[Answer, NoAnswer] = NoAnswer("no connection")

    def run(self) -> None:
        """Makes the exchange, and ends it with its result. Never raises."""
        connection: Optional[http.client.HTTPConnection] = None
        try:
            connection = self._connector.open(CALL_TIMEOUT_SECONDS)
            connection.connect()
            with self._lock:
                self._socket = connection.sock
            if self.ended.is_set():
                return
            self.end(self._exchange(connection))
        except Exception as error:
            self.end(self.no_answer("cut answer" if self._has_response else _reason_of(error)))
        finally:
            if connection is not None:
                connection.close()

    def no_answer(self, reason: str) -> NoAnswer:
        """The result of an exchange that ends now."""
        return NoAnswer(reason, self._has_response, self._retry_after)

    def end(self, result: Union[Answer, NoAnswer]) -> None:
        """Ends the exchange with this result, unless it has ended already."""
        with self._lock:
            if not self.ended.is_set():
                self.result = result
                self.ended.set()
            connected = self._socket
        if connected is not None:
            try:
                # The method of the base class: that of a TLS socket is not safe while another thread reads.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)
            except OSError:
                pass  # It is closed already.

    def _exchange(self, connection: http.client.HTTPConnection) -> Union[Answer, NoAnswer]:
        connection.request(self._method, self._path, self._body, self._request_headers())
        response = connection.getresponse()

        def header(name: str) -> Optional[str]:
            value = response.getheader(name)
            # The space after a value is no part of it (RFC 9110, section 5.5).
            return None if value is None else value.rstrip(" \t")

        retry_after = parse_retry_after(header("retry-after"), header("date"), self._clock.now())
        self._has_response, self._retry_after = True, retry_after if response.status in BUSY else None
        # The service sends neither a redirect nor a 101; a captive portal sends redirects.
        if response.status < 200 or (300 <= response.status < 400 and response.status != 304):
            return self.no_answer("redirect")
        data = _read_bounded(response)
        if data is None:
            return self.no_answer("answer too large")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return self.no_answer("answer not UTF-8")
        kind = (header("content-type") or "").split(";", 1)[0].strip().lower()
        return Answer(status=response.status, media_type=kind, etag=header("etag"), text=text, retry_after_seconds=retry_after)

    def _request_headers(self) -> Dict[str, str]:
        headers = {
            "accept": "application/json, application/problem+json",
            "user-agent": USER_AGENT,
            "connection": "close",
            **self._headers,
        }
        return headers if self._body is None else {**headers, "content-type": "application/json"}


def _read_bounded(response: http.client.HTTPResponse) -> Optional[bytes]:
    """Reads the body; None if it is too large. Raises if it is shorter than its `content-length`."""
    data = b""
    while len(data) <= ANSWER_LIMIT_BYTES:
        part = response.read(ANSWER_LIMIT_BYTES + 1 - len(data))
        data += part
        if not part:
            # A read with a size does not report this itself.
            if response.length:
                raise http.client.IncompleteRead(data, response.length)
            return data
    return None


def _reason_of(error: Exception) -> str:
    """A fixed text or the name of a system error: messages contain addresses, which must not be logged."""
    if isinstance(error, UnusableProxy):
        return "a proxy of a kind that cannot be used"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "certificate not trusted"
    if isinstance(error, ssl.SSLError):
        return "no TLS connection"
    if isinstance(error, socket.gaierror):
        return "name not found"
    if isinstance(error, socket.timeout):
        return "timeout"
    if isinstance(error, (http.client.RemoteDisconnected, ConnectionResetError)):
        return "connection closed"
    number = error.errno if isinstance(error, OSError) else None
    return errno.errorcode.get(number or 0, "no connection")
