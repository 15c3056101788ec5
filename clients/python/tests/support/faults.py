"""Faulty answers to the calls of a client: the same ones as in the tests of the reference client (test/client/faults.ts)."""

from __future__ import annotations

from email.utils import formatdate
from typing import Dict, Mapping, Union

from mooring_client.json_text import to_json
from mooring_client.time_text import format_time
from mooring_client.transport import ANSWER_LIMIT_BYTES

from .exchange import Exchange
from .misbehaving_service import Fault

_JSON: Mapping[str, str] = {"content-type": "application/json"}
_PROBLEM: Mapping[str, str] = {"content-type": "application/problem+json"}
# The body of a problem that asks the client to stop; each fault below makes it invalid.
_STOP = to_json(
    {
        "title": "Revoked",
        "status": 403,
        "code": "license_revoked",
        "detail": "A stop that must not be obeyed.",
        "client_action": "stop",
    }
)


def _confirmed(**changes: object) -> Fault:
    """Sends a confirmation with these members changed; a member that is `...` is left out."""

    def send(exchange: Exchange) -> None:
        members = exchange.service.confirmation(**changes)
        exchange.json(200, {name: value for name, value in members.items() if value is not ...})

    return send


def _body(text: Union[str, bytes], status: int = 200, headers: Mapping[str, str] = _JSON) -> Fault:
    """Sends this text as the body of an answer."""
    return lambda exchange: exchange.send(status, headers, text)


def _incomplete_answer(exchange: Exchange) -> None:
    exchange.begin(200, {**_JSON, "transfer-encoding": "chunked"})
    exchange.cut('{"token":"t')


def _incomplete_stop(exchange: Exchange) -> None:
    exchange.begin(403, {**_PROBLEM, "content-length": "9999"})
    exchange.send_bytes(_STOP.encode())


def _short_stop(exchange: Exchange) -> None:
    exchange.begin(403, {**_PROBLEM, "content-length": str(len(_STOP) + 1)})
    exchange.send_bytes(_STOP.encode())


def _date_in_15_minutes(exchange: Exchange) -> None:
    exchange.busy(503, formatdate(exchange.service.now() / 1000 + 900, usegmt=True), 900)


# Faults of the network, of intermediaries and of a broken server: the client must treat each as no answer.
NO_ANSWERS: Dict[str, Fault] = {
    "no response": lambda exchange: exchange.stall(),
    "a response that never ends": lambda exchange: exchange.stall('{"token":'),
    "a connection that is closed without a response": lambda exchange: exchange.cut(),
    "an incomplete answer": _incomplete_answer,
    "an incomplete stop": _incomplete_stop,
    "a stop shorter than its content-length": _short_stop,
    "bytes that are not HTTP": lambda exchange: exchange.send_bytes(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"),
    "a captive portal’s page": lambda exchange: exchange.page(200),
    "a captive portal’s page that calls itself JSON": _body("<html>Sign in</html>"),
    "a captive portal’s redirect": lambda exchange: exchange.page(302, {"location": "https://portal.example/"}),
    "a redirect that says stop": _body(_STOP, 307, {**_PROBLEM, "location": "/elsewhere"}),
    "a proxy’s 403": lambda exchange: exchange.page(403),
    "a proxy’s 502": lambda exchange: exchange.page(502),
    "a 500": lambda exchange: exchange.json(500, {"error": "internal"}),
    "a stop as plain JSON": _body(_STOP, 403),
    "a stop with status 200": _body(_STOP, 200, _PROBLEM),
    "a stop with status 202": _body(_STOP, 202, _PROBLEM),
    "a stop without a code": _body('{"client_action":"stop","detail":"x"}', 403, _PROBLEM),
    "a stop whose code is a number": _body('{"client_action":"stop","code":1}', 403, _PROBLEM),
    "a stop in a list": _body(f"[{_STOP}]", 403, _PROBLEM),
    "invalid UTF-8": _body(b"\xff\xfe{"),
    "an empty answer": _body(""),
    "an answer that is too large": _confirmed(x="x" * ANSWER_LIMIT_BYTES),
    "a stop that is too large": _body(_STOP.replace("{", '{"x":"' + "x" * ANSWER_LIMIT_BYTES + '",'), 403, _PROBLEM),
    "a 503 without a retry-after": lambda exchange: exchange.page(503),
    "a 503 with a retry-after of two minutes": lambda exchange: exchange.busy(503, "120", 120),
    "a 503 with a date as its retry-after": _date_in_15_minutes,
    "a 503 with a retry-after in the past": lambda exchange: exchange.busy(503, "Thu, 19 Nov 2026 13:00:00 GMT", 0),
    "a 503 with a retry-after of zero": lambda exchange: exchange.busy(503, "0", 0),
    "a 503 with a retry-after of ten years": lambda exchange: exchange.busy(503, "315360000", 315_360_000),
    "a 503 with a negative retry-after": lambda exchange: exchange.busy(503, "-120"),
    "a 429 with a retry-after that is not a time": lambda exchange: exchange.busy(429, "soon"),
    "a 429 with a retry-after of 90 seconds": lambda exchange: exchange.busy(429, "90", 90),
}

# Answers of 200 whose JSON is not a confirmation.
WRONG_SHAPES: Dict[str, Fault] = {
    "null": _body("null"),
    "a list": _body("[]"),
    "text": _body('"ok"'),
    "no member at all": _body("{}"),
    "no license": _confirmed(license=...),
    "a license that is a list": _confirmed(license=[]),
    "an expiry that is not a time": _confirmed(license={"status": "active", "expires_at": "never"}),
    "no token": _confirmed(token=...),
    "an empty token": _confirmed(token=""),
    "a token that is a number": _confirmed(token=7),
    "a token that is too long": _confirmed(token="t" * 2049),
    "no offline_until": _confirmed(offline_until=None),
    "an offline_until that has passed": lambda exchange: _confirmed(
        offline_until=format_time(exchange.service.now() - 1)
    )(exchange),
    "a server_time that is not a time": _confirmed(server_time="now"),
}

# Problem documents that the client must follow as `retry`, whatever action they name.
RETRY_PROBLEMS: Dict[str, Fault] = {
    "a stop with status 500": lambda exchange: exchange.problem(500, "license_revoked", "stop"),
    "a stop with status 503": lambda exchange: exchange.problem(503, "license_refunded", "stop"),
    "a reactivate with status 500": lambda exchange: exchange.problem(500, "token_invalid", "reactivate"),
    "internal_error": lambda exchange: exchange.problem(500, "internal_error", "retry"),
    "an unknown action": lambda exchange: exchange.problem(403, "license_asleep", "self_destruct"),
    "no action": lambda exchange: exchange.problem(403, "license_asleep", ""),
    "an action that is a list": lambda exchange: exchange.send(
        403, _PROBLEM, '{"code":"license_asleep","client_action":["stop"]}'
    ),
}

# Problem documents that report a bug of the client.
FIX_PROBLEMS: Dict[str, Fault] = {
    "not_found": lambda exchange: exchange.problem(404, "not_found", "fix"),
    "invalid_request": lambda exchange: exchange.problem(
        422, "invalid_request", "fix", errors=[{"pointer": "/token", "detail": "no"}]
    ),
}
