"""Validates responses. A response that is no confirmation and no problem of the service counts as no answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple, Union

from .json_text import JsonObject, as_list, as_number, as_object, parse_object
from .problem import ClientAction, FieldError, LicenseProblem, ServiceUnreachable
from .state import as_token
from .time_text import parse_time


@dataclass(frozen=True)
class Answer:
    """A complete response. Its content is not yet validated."""

    status: int
    media_type: str
    """The media type in lower case, without parameters."""
    etag: Optional[str]
    text: str
    retry_after_seconds: Optional[float]


@dataclass(frozen=True)
class NoAnswer:
    """The result of a call without a complete and valid response."""

    reason: str
    """One of a few fixed texts or the name of a system error, never received text."""
    has_response: bool = False
    """Whether response headers were received."""
    retry_after_seconds: Optional[float] = None


@dataclass(frozen=True)
class Confirmation:
    """The content of a valid response to an activation or a heartbeat."""

    token: str
    offline_until: str
    server_time: str
    heartbeat_after_seconds: Optional[float]
    license_expires_at: Optional[str]


@dataclass(frozen=True)
class Refusal:
    """A problem of the service."""

    problem: LicenseProblem


BUSY = (429, 503)
"""The `retry-after` of a response with such a status is used even if the response counts as no answer.

A proxy in front of the service may answer with a body of its own.
"""

Outcome = Union[Confirmation, Refusal, NoAnswer]

_ACTIONS: Dict[object, ClientAction] = {"retry": "retry", "fix": "fix", "reactivate": "reactivate", "stop": "stop"}
_NOT_EXTRAS = {"type", "title", "status", "code", "client_action", "detail", "errors", "request_id"}


def read_license_answer(answer: Union[Answer, NoAnswer]) -> Outcome:
    """Reads the response to an activation or a heartbeat. Never raises."""
    if isinstance(answer, NoAnswer):
        return answer
    if answer.status in (200, 201):
        return _read_confirmation(answer) or _invalid_answer(answer)
    problem = _read_problem(answer)
    return Refusal(problem) if problem else _invalid_answer(answer)


def error_of(outcome: Union[Refusal, NoAnswer]) -> Union[LicenseProblem, ServiceUnreachable]:
    """The error that `activate` raises for an outcome."""
    if isinstance(outcome, Refusal):
        return outcome.problem
    return ServiceUnreachable(outcome.reason, outcome.retry_after_seconds)


def logged_code(problem: LicenseProblem) -> str:
    """The code of a problem for the log. A received text of another form could be personal, or have a line break."""
    return problem.code if re.fullmatch("[a-z_]{1,40}", problem.code) else "a problem whose code has an invalid form"


def _invalid_answer(answer: Answer) -> NoAnswer:
    return NoAnswer(
        f"not an answer of the service, status {answer.status}",
        has_response=True,
        retry_after_seconds=answer.retry_after_seconds if answer.status in BUSY else None,
    )


def _read_confirmation(answer: Answer) -> Optional[Confirmation]:
    body = parse_object(answer.text) if answer.media_type == "application/json" else None
    license = as_object((body or {}).get("license"))
    if body is None or license is None or "expires_at" not in license:
        return None
    token, offline_until, server_time = as_token(body.get("token")), body.get("offline_until"), body.get("server_time")
    expires_at = license["expires_at"]
    until, answered_at = parse_time(offline_until), parse_time(server_time)
    if token is None or until is None or answered_at is None or until <= answered_at:
        return None
    if expires_at is not None and parse_time(expires_at) is None:
        return None
    return Confirmation(
        token=token,
        offline_until=str(offline_until),
        server_time=str(server_time),
        heartbeat_after_seconds=as_number(body.get("heartbeat_after_seconds")),
        license_expires_at=None if expires_at is None else str(expires_at),
    )


def _read_problem(answer: Answer) -> Optional[LicenseProblem]:
    if answer.media_type != "application/problem+json" or answer.status < 400:
        return None
    body = parse_object(answer.text)
    code = (body or {}).get("code")
    if body is None or not isinstance(code, str) or code == "":
        return None
    action = body.get("client_action")
    known_action = _ACTIONS.get(action, "retry") if isinstance(action, str) else "retry"
    return LicenseProblem(
        status=answer.status,
        code=code,
        # A failing server decides nothing about a license: a 5xx can only ask for another attempt.
        client_action=known_action if answer.status < 500 else "retry",
        detail=_text_to_show(body) or code,
        errors=_read_field_errors(body.get("errors")),
        extras={name: value for name, value in body.items() if name not in _NOT_EXTRAS},
        retry_after_seconds=answer.retry_after_seconds,
    )


def _text_to_show(body: JsonObject) -> Optional[str]:
    texts = [text for text in (body.get("detail"), body.get("title")) if isinstance(text, str) and text]
    return texts[0] if texts else None


def _read_field_errors(errors: object) -> Tuple[FieldError, ...]:
    read: List[FieldError] = []
    for entry in as_list(errors):
        members = as_object(entry) or {}
        pointer, detail = members.get("pointer"), members.get("detail")
        if isinstance(pointer, str) and isinstance(detail, str):
            read.append(FieldError(pointer, detail))
    return tuple(read)
