"""A simulated service over real sockets, which answers correctly until a fault is switched on. It records every request."""

from __future__ import annotations

import random
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set

from mooring_client.license_token import machine_digest
from mooring_client.time_text import format_time

from .exchange import Exchange, Received
from .fake_time import DAY
from .signer import Signer, manifest, token

PATHS = ("/v1/activate", "/v1/heartbeat", "/v1/manifest")
MACHINE_ID = "ab" * 32
Fault = Callable[[Exchange], object]


class Stop(NamedTuple):
    """The code and the detail of a refusal that stops the client."""

    code: str
    detail: str


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that closed its connection is no error of a test."""


class MisbehavingService:
    """`true_time` returns milliseconds since 1970."""

    def __init__(self, true_time: Callable[[], float]) -> None:
        self._true_time = true_time
        self.received: List[Received] = []
        self.stalled = threading.Event()
        """Set while the service does not continue an answer."""
        self.key = Signer.make()
        self.token_key = Signer.make()
        self.faults: Dict[str, Fault] = {}
        self.clock_error_ms = 0.0
        """By how much the clock of the service is ahead of the true time."""
        self.heartbeat_after_seconds: object = 21_600
        """The interval that its confirmations contain."""
        self.stop: Optional[Stop] = None
        """The refusal of each license call; None while the license is valid."""
        self.confirmed_at: Optional[float] = None
        """The true time of its last confirmation."""
        self.sequence = 0
        self.published: Dict[str, object] = {}
        self._tokens: Set[object] = set()
        self._machines: Set[object] = set()
        self._issued = 0
        self._server: Optional[_Server] = None
        # The port is below the range of ephemeral ports, so that no other process gets it while `refuse` has closed it.
        while self._server is None:
            self.port = random.SystemRandom().randint(20_000, 29_999)
            try:
                self._listen()
            except OSError:
                continue
        self.publish(version="3.1.0")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def activations(self) -> int:
        """The number of activated machines."""
        return len(self._machines)

    def now(self) -> float:
        return self._true_time() + self.clock_error_ms

    def misbehave(self, fault: Fault, paths: Sequence[str] = PATHS) -> None:
        """Switches a fault on for these paths, and all others off."""
        self.faults = {path: fault for path in paths}

    def behave(self) -> None:
        """Ends all faults."""
        self.faults = {}
        self.clock_error_ms = 0
        self.heartbeat_after_seconds = 21_600
        if self._server is None:
            self._listen()

    def refuse(self) -> None:
        """Closes the port: each connection is refused until `behave` is called."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def forget_tokens(self) -> None:
        """Makes all tokens unknown, as after a lost key or a restored backup. Activations are kept."""
        self._tokens.clear()

    def publish(self, **changes: object) -> None:
        """Publishes a manifest that is valid for 90 days from now, signed with its key."""
        self.sequence += 1
        expires_at = format_time(self._true_time() + 90 * DAY)
        self.published = manifest([self.key], **{"sequence": self.sequence, "expires_at": expires_at, **changes})

    def confirmation(self, **changes: object) -> Dict[str, object]:
        """Makes a correct confirmation with a new token, and with times of the service's clock."""
        self._issued += 1
        iat = int(self.now() // 1000)
        issued = token(self.token_key, machine_digest(MACHINE_ID), iat, iat + int(7 * DAY / 1000), self._issued)
        self._tokens.add(issued)
        return {
            "token": issued,
            "offline_until": format_time(self.now() + 7 * DAY),
            "heartbeat_after_seconds": self.heartbeat_after_seconds,
            "server_time": format_time(self.now()),
            "license": {"status": "active", "expires_at": None},
            **changes,
        }

    def answer(self, exchange: Exchange) -> None:
        """Sends the correct answer."""
        received = exchange.received
        if received.path == "/v1/manifest":
            return self._send_manifest(exchange)
        if self.stop is not None:
            return exchange.problem(403, self.stop.code, "stop", detail=self.stop.detail)
        if received.path == "/v1/heartbeat" and received.body.get("token") not in self._tokens:
            return exchange.problem(403, "token_invalid", "reactivate")
        is_new = received.path == "/v1/activate" and received.body.get("machine_id") not in self._machines
        if received.path == "/v1/activate":
            self._machines.add(received.body.get("machine_id"))
        stored = {"telemetry": {"stored": True, "dropped": []}} if received.telemetry else {}
        self.confirmed_at = self._true_time()
        received.is_confirmed = True
        exchange.json(201 if is_new else 200, self.confirmation(**stored))

    def _send_manifest(self, exchange: Exchange) -> None:
        etag = f'"m{self.sequence}"'
        if exchange.received.headers.get("if-none-match") == etag:
            exchange.send(304, {"etag": etag}, "")
        else:
            exchange.json(200, self.published, {"etag": etag})

    def _listen(self) -> None:
        service = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True

            def log_message(self, format: str, *args: object) -> None:
                """The tests print no requests."""

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                raw = self.rfile.read(int(headers.get("content-length", "0"))).decode()
                path = self.path.split("?", 1)[0]
                received = Received(path, self.command, self.path, headers, raw)
                service.received.append(received)
                self.close_connection = True
                service.faults.get(path, service.answer)(Exchange(service, received, self.connection))

            do_POST = do_GET



        self._server = _Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
