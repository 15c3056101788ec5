"""The errors of `MooringClient.activate`, and the members of a refusal (docs/errors.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Literal, Mapping, Optional, Tuple

from .json_text import is_shallow, safe_integer
from .time_text import parse_time
from .version import is_version
from .web_address import is_web_address

ClientAction = Literal["retry", "fix", "reactivate", "stop"]
Members = Mapping[str, object]

_MAX_LEVELS = 4
"""A deeper member is left out.

In the state file a member is nested two levels deeper than in the response, so without this limit `parse_object` might not read
the file.
"""


@dataclass(frozen=True)
class FieldError:
    """An invalid member of a request: its JSON pointer, such as `/email`, and what is wrong with it."""

    pointer: str
    detail: str


class LicenseProblem(Exception):
    """A refusal of the service, or of the client itself for a text that is no license key. Show `detail`."""

    def __init__(
        self,
        *,
        status: int,
        code: str,
        client_action: ClientAction,
        detail: str,
        errors: Tuple[FieldError, ...],
        extras: Members,
        retry_after_seconds: Optional[float] = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.status = status
        self.code = code
        """A code of docs/errors.md, or one of a newer service."""
        self.client_action: ClientAction = client_action
        self.detail = detail
        """The text to show to the user."""
        self.errors = errors
        self.extras: Members = checked_members(code, extras)
        """The members that depend on the code, such as `release_url`. Each may be missing."""
        self.retry_after_seconds = retry_after_seconds
        """The least time to wait before the request is repeated, from the `retry-after` of the response."""


class ServiceUnreachable(Exception):
    """No valid response was received: no network, a captive portal, an incomplete response, a broken proxy."""

    def __init__(self, reason: str, retry_after_seconds: Optional[float] = None) -> None:
        super().__init__(f"the licensing service could not be reached ({reason})")
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds
        """The least time to wait before the request is repeated, if a proxy answered 429 or 503 with a `retry-after`."""


Check = Callable[[object], bool]


def _is_count(value: object) -> bool:
    number = safe_integer(value)
    return number is not None and number >= 0


def _is_time(value: object) -> bool:
    return parse_time(value) is not None


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


_PROBLEM_MEMBERS: Dict[str, Dict[str, Check]] = {
    "license_expired": {"expired_at": _is_time},
    "version_not_covered": {
        "minimum_license_expiry": _or_none(_is_time),
        "newest_covered_version": _or_none(is_version),
        "download_url": _or_none(is_web_address),
    },
    "machine_limit_reached": {
        "machines_allowed": _is_count,
        "machines_in_use": _is_count,
        "portal_url": is_web_address,
        "release_url": is_web_address,
    },
}


def checked_members(code: str, members: Members) -> Dict[str, object]:
    """Removes each member that has the wrong type for this code.

    Members of unknown codes, and unknown members, are kept unchanged, because a newer service may have added them. Of
    these, only members with more than four levels of objects or lists are removed.
    """
    checks = _PROBLEM_MEMBERS.get(code, {})
    return {
        name: value
        for name, value in members.items()
        if (checks[name](value) if name in checks else is_shallow(value, _MAX_LEVELS))
    }
