"""Connections: TLS with the user's certificates, the user's proxy, and the limits of a call."""

from __future__ import annotations

import os
import socket
import socketserver
import ssl
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Callable, List, Mapping, Optional
from unittest.mock import patch

from mooring_client import MooringClient
from mooring_client.answers import Answer, NoAnswer
from mooring_client.clock import SystemClock
from mooring_client.connection import Connector, check_base_url
from mooring_client.transport import ANSWER_LIMIT_BYTES, Transport, Wait, wait_for_end

CERTIFICATES = Path(__file__).parent / "certificates"
CA_FILE = str(CERTIFICATES / "ca.pem")
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that refuses the certificate is no error of a test."""


class ServerTest(unittest.TestCase):
    """Tests with servers on free ports, which are closed at the end."""

    def setUp(self) -> None:
        self.requests: List[bytes] = []
        self.wait: Wait = wait_for_end

    def serve(self, answer: Callable[[socket.socket], None], certificate: str = "") -> int:
        """Calls `answer` with each connection, after its request is recorded. Returns the port."""
        requests = self.requests

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                connection: socket.socket = self.request
                if certificate:
                    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    context.load_cert_chain(CERTIFICATES / certificate)
                    connection = context.wrap_socket(connection, server_side=True)
                requests.append(_read_head(connection))
                answer(connection)
                connection.close()

        server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return int(server.server_address[1])

    def transport(
        self, url: str, ca_file: Optional[str] = None, proxies: Optional[Mapping[str, str]] = None
    ) -> Transport:
        return Transport(Connector(check_base_url(url), ca_file, None, proxies), SystemClock(), self.wait)

    def reason(self, transport: Transport) -> str:
        answer = transport.call("GET", "/v1/manifest")
        return answer.reason if isinstance(answer, NoAnswer) else f"status {answer.status}"


def _read_head(connection: socket.socket) -> bytes:
    data = b""
    # The beginning of TLS, on a server that has none, has no end of headers.
    while b"\r\n\r\n" not in data and not data.startswith(b"\x16"):
        part = connection.recv(65536)
        if not part:
            break
        data += part
    return data


def _send(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


class Tls(ServerTest):
    """Certificates"""

    def test_own_certificates(self) -> None:
        """A certificate is checked with those of the system, with a CA file, and for the name of the service."""
        port = self.serve(_send(OK), "server.pem")
        url = f"https://localhost:{port}"
        self.assertEqual(self.reason(self.transport(url)), "certificate not trusted")
        self.assertEqual(self.requests, [])
        self.assertEqual(self.reason(self.transport(url, CA_FILE)), "status 200")
        self.assertEqual(self.reason(self.transport(f"https://127.0.0.1:{port}", CA_FILE)), "certificate not trusted")

    def test_the_environment_of_openssl(self) -> None:
        """`SSL_CERT_FILE`, which administrators set, is honoured."""
        port = self.serve(_send(OK), "server.pem")
        with patch.dict(os.environ, {"SSL_CERT_FILE": CA_FILE}):
            self.assertEqual(self.reason(self.transport(f"https://localhost:{port}")), "status 200")

    def test_a_ca_that_is_not_strict(self) -> None:
        """A CA of a company without key identifiers, and whose basic constraints are not critical, is trusted, also by Python 3.13."""
        port = self.serve(_send(OK), "lenient-server.pem")
        make_context = ssl.create_default_context

        def strict() -> ssl.SSLContext:
            context = make_context()
            context.verify_flags |= ssl.VERIFY_X509_STRICT
            return context

        lenient, url = str(CERTIFICATES / "lenient-ca.pem"), f"https://localhost:{port}"
        with patch("ssl.create_default_context", strict):
            self.assertEqual(self.reason(self.transport(url, lenient)), "status 200")
        # A context of the application remains as it is.
        context = strict()
        context.load_verify_locations(lenient)
        transport = Transport(Connector(check_base_url(url), None, context), SystemClock(), self.wait)
        self.assertEqual(self.reason(transport), "certificate not trusted")

    def test_no_tls(self) -> None:
        port = self.serve(_send(OK))
        self.assertEqual(self.reason(self.transport(f"https://localhost:{port}", CA_FILE)), "no TLS connection")

    def test_a_wrong_ca_file(self) -> None:
        """The constructor of the client reports the wrong file as an error of the application, with the option and the path."""
        with tempfile.TemporaryDirectory(prefix="mooring-client-") as folder:
            missing, empty, text = (str(Path(folder, name)) for name in ("missing.pem", "empty.pem", "text.pem"))
            Path(empty).touch()
            Path(text).write_text("no certificate", encoding="utf-8")
            for ca_file, message in [
                (missing, "ca_file cannot be read: "),
                (empty, "ca_file must hold certificates in PEM: "),
                (text, "ca_file must hold certificates in PEM: "),
            ]:
                with self.assertRaises(ValueError) as raised:
                    MooringClient(
                        base_url="https://localhost:1",
                        app="EXAMPLE",
                        product="com.example.app",
                        app_version="1.0.0",
                        trusted_keys=[],
                        state_file=str(Path(folder, "license.json")),
                        ca_file=ca_file,
                    )
                self.assertEqual(str(raised.exception), message + ca_file)


class Proxies(ServerTest):
    """The user's proxy"""

    def setUp(self) -> None:
        super().setUp()
        self.service = self.serve(_send(OK), "server.pem")
        self.proxy = self.serve(self._forward)

    def _forward(self, client: socket.socket) -> None:
        """Connects a client with the service, whatever name it asked for."""
        with socket.create_connection(("127.0.0.1", self.service)) as service:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            pipe = threading.Thread(target=_copy, args=(service, client), daemon=True)
            pipe.start()
            _copy(client, service)
            pipe.join(10)

    def test_a_proxy_of_the_options(self) -> None:
        """The proxy sees the name of the service and nothing else; the certificate is checked behind it."""
        proxies = {"https": f"http://anna:p%40ss@127.0.0.1:{self.proxy}"}
        transport = self.transport("https://license.example.com", CA_FILE, proxies)
        self.assertEqual(self.reason(transport), "status 200")
        head = self.requests[0].decode().lower()
        self.assertTrue(head.startswith("connect license.example.com:443 http/1."), head)
        self.assertIn("user-agent: mooring-client\r\n", head)
        self.assertIn("proxy-authorization: basic yw5uytpwqhnz\r\n", head)
        self.assertNotIn("manifest", head)
        self.assertIn(b"GET /v1/manifest HTTP/1.1\r\nHost: license.example.com\r\n", self.requests[1])
        self.assertEqual(self.reason(self.transport("https://other.example.com", CA_FILE, proxies)), "certificate not trusted")

    def test_the_proxy_of_the_system(self) -> None:
        """It is read for each call, and `no_proxy` is honoured."""
        url = f"https://license.example.com:{self.service}"
        transport = self.transport(url, CA_FILE)
        environment = {"https_proxy": f"127.0.0.1:{self.proxy}", "no_proxy": "", "NO_PROXY": ""}
        look_up = socket.getaddrinfo

        def loopback(_host: object, *rest: Any, **named: Any) -> object:
            return look_up("127.0.0.1", *rest, **named)

        with patch.dict(os.environ, environment), patch("socket.getaddrinfo", loopback):
            self.assertEqual(self.reason(transport), "status 200")
            self.assertEqual(len(self.requests), 2)
            os.environ["no_proxy"] = "license.example.com"
            self.assertEqual(self.reason(transport), "status 200")
            self.assertEqual(len(self.requests), 3)
            os.environ["no_proxy"] = ""
            self.assertEqual(self.reason(self.transport(url, CA_FILE, {})), "status 200")
            self.assertEqual(len(self.requests), 4)

    def test_a_loopback_service(self) -> None:
        """A service on the same machine is reached without a proxy, by http and https."""
        port = self.serve(_send(OK))
        closed = "http://127.0.0.1:1"
        environment = {"http_proxy": closed, "https_proxy": closed, "all_proxy": closed, "no_proxy": "", "NO_PROXY": ""}
        with patch.dict(os.environ, environment):
            self.assertEqual(self.reason(self.transport(f"http://127.0.0.1:{port}")), "status 200")
            self.assertEqual(self.reason(self.transport(f"https://localhost:{self.service}", CA_FILE)), "status 200")
        self.assertEqual(len(self.requests), 2)

    def test_loopback_hosts(self) -> None:
        for host, target in [
            ("localhost", "localhost"),
            ("LOCALHOST:8443", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("127.100.20.3:8443", "127.100.20.3"),
            ("[::1]:8443", "::1"),
            ("localhost.example", "proxy"),
            ("127.0.0.1.example", "proxy"),
            ("[::2]", "proxy"),
        ]:
            connector = Connector(check_base_url(f"https://{host}"), proxies={"https": "http://proxy:8080"})
            self.assertEqual(connector.open(1).host, target)

    def test_proxies_that_cannot_be_used(self) -> None:
        refusing = self.serve(_send(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"))
        for address, reason in [
            (f"http://127.0.0.1:{refusing}", "no connection"),
            ("socks5://127.0.0.1:1080", "a proxy of a kind that cannot be used"),
            ("http://127.0.0.1:1", "ECONNREFUSED"),
        ]:
            transport = self.transport("https://license.example.com", CA_FILE, {"https": address})
            self.assertEqual(self.reason(transport), reason)


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # The other side has closed the connection.


class Limits(ServerTest):
    """The URLs and the limits of a call"""

    def test_base_urls(self) -> None:
        for wrong in [
            "http://license.example",
            "http://evil-localhost",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "ftp://localhost",
            "https://user@license.example",
            "https://:password@license.example",
            "https://license.example?a",
            "https://license.example#a",
            "https://license.example?",
            "https://license.example/a?",
            "https://license.example/a#",
            "https://",
            "https://license.example:65536",
            "https://license.example:https",
            "license.example",
            "https://license .example",
            "https://license.example/a b",
            "https://license.example\\v1",
            "https://256.0.0.1",
            "https://[::1",
        ]:
            with self.assertRaisesRegex(ValueError, "base_url must "):
                check_base_url(wrong)
        right = ["http://localhost", "http://127.100.20.3", "http://[::1]:8080", "https://license.example/path/"]
        for url in [*right, "https://[::ffff:192.0.2.1]", " https://license.example\n"]:
            check_base_url(url)

    def test_the_port_of_a_base_url(self) -> None:
        """The last part of an IPv6 address is no port."""
        for url, host, port in [
            ("https://license.example", "license.example", 443),
            ("https://[2001:db8::1]", "2001:db8::1", 443),
            ("https://[2001:db8::1]:8443", "2001:db8::1", 8443),
            ("http://[::1]", "::1", 80),
        ]:
            connection = Connector(check_base_url(url), proxies={}).open(1)
            self.assertEqual((connection.host, connection.port), (host, port))

    def test_a_path_in_the_base_url(self) -> None:
        port = self.serve(_send(OK))
        self.assertEqual(self.reason(self.transport(f"http://127.0.0.1:{port}/license//")), "status 200")
        self.assertTrue(self.requests[0].startswith(b"GET /license/v1/manifest HTTP/1.1\r\n"), self.requests)

    def test_space_after_a_header(self) -> None:
        """The space around the value of a header is no part of it."""
        port = self.serve(_send(b'HTTP/1.1 503 Busy\r\nretry-after: \t120 \t\r\netag:"m1" \r\n\r\n'))
        answer = self.transport(f"http://127.0.0.1:{port}").call("GET", "/v1/manifest")
        assert isinstance(answer, Answer)
        self.assertEqual((answer.retry_after_seconds, answer.etag), (120, '"m1"'))

    def test_informational_responses(self) -> None:
        """They come before the response, and a proxy may send them unasked."""
        hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
        answer = self.transport(f"http://127.0.0.1:{self.serve(_send(hints + OK))}").call("GET", "/v1/manifest")
        assert isinstance(answer, Answer)
        self.assertEqual((answer.status, answer.media_type, answer.text), (200, "application/json", "{}"))
        switch = self.serve(_send(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n"))
        self.assertEqual(self.reason(self.transport(f"http://127.0.0.1:{switch}")), "redirect")

    def test_a_network_whose_ipv6_leads_nowhere(self) -> None:
        """IPv6 and IPv4 are tried in turn, and none but the last address may use up the time of the call."""
        port = self.serve(_send(OK))
        tcp = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        found = [(socket.AF_INET6, *tcp, (host, port, 0, 0)) for host in ("2001:db8::1", "2001:db8::2")]
        tried: List[object] = []
        connect = socket.create_connection

        def lost(target: "tuple[str, int]", seconds: float, *rest: Any) -> socket.socket:
            tried.append((target[0], seconds))
            if target[0] != "127.0.0.1":
                raise socket.timeout
            with patch("socket.getaddrinfo", look_up):
                return connect(target, seconds, *rest)

        look_up = socket.getaddrinfo
        transport = self.transport(f"http://localhost:{port}")
        with patch("socket.create_connection", lost):
            with patch("socket.getaddrinfo", lambda *_, **__: [*found, (socket.AF_INET, *tcp, ("127.0.0.1", port))]):
                self.assertEqual(self.reason(transport), "status 200")
            with patch("socket.getaddrinfo", lambda *_, **__: found):
                self.assertEqual(self.reason(transport), "timeout")
        first, second, ipv4 = ("2001:db8::1", 3), ("2001:db8::2", 10), ("127.0.0.1", 3)
        self.assertEqual(tried, [first, ipv4, first, second])

    def test_size(self) -> None:
        for size, is_accepted in [(ANSWER_LIMIT_BYTES, True), (ANSWER_LIMIT_BYTES + 1, False)]:
            body = b"x" * size
            plain = b"HTTP/1.1 200 OK\r\n\r\n" + body
            chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (size, body)
            for data in (plain, chunked):
                answer = self.transport(f"http://127.0.0.1:{self.serve(_send(data))}").call("GET", "/v1/manifest")
                if is_accepted:
                    assert isinstance(answer, Answer)
                    self.assertEqual((len(answer.text), answer.media_type), (size, ""))
                else:
                    self.assertEqual(answer, NoAnswer("answer too large", True))

    def test_incomplete_bodies(self) -> None:
        """A response that ends before its last byte is no answer, also within a line that gives the size of a chunk."""
        head = b"HTTP/1.1 200 OK\r\n"
        bodies = [
            b"content-length: 2\r\n\r\n{}",
            b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0;x=y\r\nx: y\r\n\r\n",
        ]
        for body in bodies:
            for end in range(body.index(b"{}") + 1, len(body) + 1):
                transport = self.transport(f"http://127.0.0.1:{self.serve(_send(head + body[:end]))}")
                expected = "status 200" if end == len(body) else "cut answer"
                self.assertEqual(self.reason(transport), expected, body[:end])

    def test_retry_after_of_an_answer_that_cannot_be_read(self) -> None:
        """It is used if the status is 429 or 503."""
        bodies = [b"x" * (ANSWER_LIMIT_BYTES + 1), b"\xff", b"cut"]
        for status, expected in ((503, 120), (429, 120), (502, None)):
            for body in bodies:
                length = len(body) + (body == b"cut")
                head = f"HTTP/1.1 {status} X\r\nretry-after: 120\r\ncontent-length: {length}\r\n\r\n"
                port = self.serve(_send(head.encode() + body))
                answer = self.transport(f"http://127.0.0.1:{port}").call("GET", "/v1/manifest")
                assert isinstance(answer, NoAnswer)
                self.assertEqual((answer.has_response, answer.retry_after_seconds), (True, expected), (status, body[:3]))

    def test_compressed_bodies(self) -> None:
        """No compression is offered, and a compressed body is no answer."""
        body = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f\x8b\x08\x00"
        self.assertEqual(self.reason(self.transport(f"http://127.0.0.1:{self.serve(_send(body))}")), "answer not UTF-8")
        self.assertIn(b"accept-encoding: identity\r\n", self.requests[0].lower())

    def test_endless_headers(self) -> None:
        for line in (b"x: " + b"y" * 70_000 + b"\r\n", b"x: y\r\n" * 300):
            port = self.serve(_send(b"HTTP/1.1 200 OK\r\n" + line + b"\r\n{}"))
            self.assertEqual(self.reason(self.transport(f"http://127.0.0.1:{port}")), "no connection")

    def test_a_response_that_trickles(self) -> None:
        """The time limit is one of the whole call: bytes that arrive one by one do not extend it."""
        ended = threading.Event()

        def trickle(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
            try:
                while not ended.wait(0.02):
                    connection.sendall(b"x")
            except OSError:
                ended.set()

        self.wait = lambda _path, event, _seconds: event.wait(0.3)
        port = self.serve(trickle)
        self.assertEqual(self.reason(self.transport(f"http://127.0.0.1:{port}")), "timeout")
        # The connection was closed, so that the server sees its end.
        self.assertTrue(ended.wait(10))

    def test_close_ends_a_call(self) -> None:
        """`close` ends the calls that are running in other threads, and each later one."""
        arrived, ended = threading.Event(), threading.Event()

        def stall(connection: socket.socket) -> None:
            arrived.set()
            connection.recv(1)
            ended.set()

        transport = self.transport(f"http://127.0.0.1:{self.serve(stall)}")
        results: List[object] = []
        caller = threading.Thread(target=lambda: results.append(transport.call("GET", "/v1/manifest")))
        caller.start()
        self.assertTrue(arrived.wait(10))
        transport.close()
        caller.join(10)
        self.assertEqual(results, [NoAnswer("closed")])
        self.assertTrue(ended.wait(10))
        self.assertEqual(transport.call("GET", "/v1/manifest"), NoAnswer("closed"))

    def test_a_system_without_threads(self) -> None:
        """A call for which no thread can be started has no answer: an error would end the heartbeats of this process."""
        port = self.serve(_send(OK))
        transport = self.transport(f"http://127.0.0.1:{port}")
        with patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            self.assertEqual(transport.call("GET", "/v1/manifest"), NoAnswer("no thread"))
        self.assertEqual(self.reason(transport), "status 200")

    def test_the_end_of_a_call(self) -> None:
        """A call ends with its answer, before its time limit of ten seconds."""
        port = self.serve(_send(OK))
        waited: List[bool] = []

        def wait(_path: str, event: threading.Event, seconds: float) -> bool:
            self.assertEqual(seconds, 10)
            waited.append(event.wait(seconds))
            return waited[-1]

        self.wait = wait
        self.assertEqual(self.reason(self.transport(f"http://127.0.0.1:{port}")), "status 200")
        self.assertEqual(waited, [True])
