"""A request to the simulated service, with correct and faulty answers."""

from __future__ import annotations

import json
import socket
from email.utils import formatdate
from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Union

from mooring_client.json_text import to_json

if TYPE_CHECKING:
    from .misbehaving_service import MisbehavingService

Headers = Mapping[str, str]


class Received:
    """A request as it was received, and its response."""

    def __init__(self, path: str, method: str, url: str, headers: Dict[str, str], raw: str) -> None:
        self.path = path
        self.method = method
        self.url = url
        """The path with its query."""
        self.headers = headers
        self.raw = raw
        self.body: Dict[str, object] = json.loads(raw) if raw else {}
        self.is_confirmed = False
        """Whether the response was a complete, valid confirmation."""
        self.action: Optional[str] = None
        """The client_action of a problem, if a client may follow it."""
        self.code: Optional[str] = None
        """The code of that problem."""
        self.retry_after_seconds: Optional[float] = None

    @property
    def telemetry(self) -> Optional[Dict[str, object]]:
        block = self.body.get("telemetry")
        return dict(block) if isinstance(block, dict) else None


class Exchange:
    """Answers one request. The connection ends with the answer."""

    def __init__(self, service: "MisbehavingService", received: Received, connection: socket.socket) -> None:
        self.service = service
        self.received = received
        self._connection = connection

    def send(self, status: int, headers: Headers, body: Union[str, bytes]) -> None:
        """Sends a complete answer, whose `date` is the time of the service."""
        data = body.encode() if isinstance(body, str) else body
        # The end of a body is marked by its length, or by a last chunk, in turn.
        if status == 304 or "content-length" in headers:
            self.begin(status, headers)
            self.send_bytes(data)
        elif len(self.service.received) % 2 == 0:
            self.begin(status, {"content-length": str(len(data)), **headers})
            self.send_bytes(data)
        else:
            self.begin(status, {"transfer-encoding": "chunked", **headers})
            self._send_chunk(data)
            self.send_bytes(b"0\r\n\r\n")

    def begin(self, status: int, headers: Headers) -> None:
        """Sends only the status line and headers of an answer."""
        dated = {"date": formatdate(self.service.now() / 1000, usegmt=True), "connection": "close", **headers}
        lines: List[str] = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in dated.items())]
        self.send_bytes("".join(f"{line}\r\n" for line in [*lines, ""]).encode())

    def json(self, status: int, body: Mapping[str, object], headers: Optional[Headers] = None) -> None:
        self.send(status, {"content-type": "application/json", **(headers or {})}, to_json(body))

    def page(self, status: int, headers: Optional[Headers] = None) -> None:
        """Sends a web page, as a captive portal or a proxy does."""
        self.send(status, {"content-type": "text/html", **(headers or {})}, "<html>Sign in to the hotel</html>")

    def problem(self, status: int, code: str, client_action: str, **members: object) -> None:
        """Sends a problem document. The action of a 4xx is recorded, because the client may follow it."""
        if 400 <= status < 500:
            self.received.action, self.received.code = client_action, code
        document: Dict[str, object] = {
            "title": f"title of {code}",
            "status": status,
            "code": code,
            "detail": f"detail of {code}",
            "client_action": client_action,
            **members,
        }
        self.send(status, {"content-type": "application/problem+json"}, to_json(document))

    def busy(self, status: int, retry_after: str, seconds: Optional[float] = None) -> None:
        """Sends 429 or 503 with this `retry-after`. A client must read `seconds` from it, or ignore it if that is None."""
        self.received.retry_after_seconds = seconds
        self.page(status, {"retry-after": retry_after})

    def stall(self, beginning: Optional[str] = None) -> None:
        """Sends an answer that never ends, or no answer, and keeps the connection open until the client closes it."""
        if beginning is not None:
            self.begin(200, {"content-type": "application/json", "transfer-encoding": "chunked"})
            self._send_chunk(beginning.encode())
        self.service.stalled.set()
        try:
            while self._connection.recv(1024):
                pass
        except OSError:
            pass

    def cut(self, beginning: Union[str, bytes] = b"") -> None:
        """Closes the connection after the beginning of a chunked body, or without any byte."""
        if beginning:
            self._send_chunk(beginning.encode() if isinstance(beginning, str) else beginning)

    def send_bytes(self, data: bytes) -> None:
        """Sends bytes that need not be HTTP."""
        try:
            self._connection.sendall(data)
        except OSError:
            pass  # The client has ended the call, for example because the answer is too large.

    def _send_chunk(self, data: bytes) -> None:
        if data:
            self.send_bytes(b"%x\r\n%b\r\n" % (len(data), data))
