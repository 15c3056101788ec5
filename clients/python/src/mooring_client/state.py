"""All data that the client stores, in one JSON file, which has the same form as that of the reference client."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import AbstractSet, Dict, Mapping, Optional, Set

from .json_text import JsonObject, as_number, as_object, parse_object, safe_integer, to_json
from .time_text import parse_time

_VERSION = 1
_INFINITY = float("inf")
_MAX_TOKEN_LENGTH = 2048


@dataclass(frozen=True)
class StoredLicense:
    """The license as it was activated, with the values of the last confirmation."""

    license_key: str
    email: str
    hostname_hint: Optional[str]
    token: str
    offline_until: str
    expires_at: Optional[str]


@dataclass(frozen=True)
class StoredStop:
    """The refusal that stopped the application, with the license, machine and version that were refused.

    An earlier client did not store these.
    """

    code: str
    detail: str
    extras: Mapping[str, object]
    license_key: Optional[str] = None
    mch: Optional[str] = None
    """The `mch` claim of a token of the machine; None if its machine id could not be read."""
    app_version: Optional[str] = None


@dataclass(frozen=True)
class StoredTime:
    """The values of `SeenTime`."""

    highest_seen: Optional[str] = None
    """The latest time that this installation has seen, corrected to the service's clock."""
    clock_ahead_seconds: float = 0
    """By how many seconds this computer's clock is ahead of the service's; never negative."""


@dataclass(frozen=True)
class SeenSequence:
    """The highest manifest sequence seen with one key, and the SHA-256 (hex) of the signed bytes of that manifest."""

    sequence: int
    digest: str


@dataclass(frozen=True)
class State:
    """The content of the state file. Without arguments: that of a computer on which nothing was activated."""

    license: Optional[StoredLicense] = None
    stopped: Optional[StoredStop] = None
    time: StoredTime = field(default_factory=StoredTime)
    crash: Optional[Mapping[str, object]] = None
    sequences: Mapping[str, SeenSequence] = field(default_factory=lambda: dict[str, SeenSequence]())


def format_state(state: State) -> str:
    """Writes the state as JSON."""
    return to_json({"version": _VERSION, **asdict(state)}, indent=2) + "\n"


def parse_state(text: str) -> Optional[State]:
    """Reads what `format_state` or the reference client wrote; None for any other text. Never raises."""
    value = parse_object(text)
    if value is None or safe_integer(value.get("version")) != _VERSION:
        return None
    license, stopped = value.get("license"), value.get("stopped")
    read_license, read_stop = _read_license(license), _read_stop(stopped)
    if (license is not None and read_license is None) or (stopped is not None and read_stop is None):
        return None
    return State(
        license=read_license,
        stopped=read_stop,
        time=_read_time(value.get("time")),
        crash=as_object(value.get("crash")),
        sequences=_read_sequences(as_object(value.get("sequences")) or {}),
    )


def outdated_members(stored: State, state: State, new: AbstractSet[str]) -> Set[str]:
    """Returns the members whose stored values are newer than those of this process.

    A later stored `offline_until` shows that another process was confirmed later. That confirmation has also corrected the clock
    values, and ended a stop whose write failed here. Only a license or a stop in `new`, the members that are written for the first
    time, is newer than that confirmation.
    """
    if stored.license is None or state.license is None or "license" in new:
        return set()
    if (parse_time(stored.license.offline_until) or 0) <= (parse_time(state.license.offline_until) or 0):
        return set()
    return {"license", "time"} if "stopped" in new else {"license", "time", "stopped"}


def highest_of(stored: Mapping[str, SeenSequence], seen: Mapping[str, SeenSequence]) -> Dict[str, SeenSequence]:
    """Returns for each key the higher of two sequences."""
    higher = {key: each for key, each in seen.items() if key not in stored or each.sequence > stored[key].sequence}
    return {**stored, **higher}


def as_token(value: object) -> Optional[str]:
    """The text of a token; None for any other value.

    The service answers a heartbeat with any other value with `fix`, never with `reactivate`, so the value would never be replaced.
    """
    return value if isinstance(value, str) and 0 < _utf16_length(value) <= _MAX_TOKEN_LENGTH else None


def _utf16_length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _read_license(value: object) -> Optional[StoredLicense]:
    members = as_object(value) or {}
    license_key, email, token = _text(members.get("license_key")), _text(members.get("email")), as_token(members.get("token"))
    # 0 takes the place of a missing member, which makes the license invalid; null does not.
    hostname_hint, offline_until = members.get("hostname_hint", 0), _time(members.get("offline_until"))
    expires_at = members.get("expires_at", 0)
    if license_key is None or email is None or token is None or offline_until is None:
        return None
    if (hostname_hint is not None and not isinstance(hostname_hint, str)) or (expires_at is not None and _time(expires_at) is None):
        return None
    return StoredLicense(license_key, email, hostname_hint, token, offline_until, _time(expires_at))


def _read_stop(value: object) -> Optional[StoredStop]:
    members = as_object(value) or {}
    code, detail, extras = _text(members.get("code")), _text(members.get("detail")), as_object(members.get("extras"))
    if code is None or detail is None or extras is None:
        return None
    # An empty text counts as missing.
    refused = (_text(members.get(name)) or None for name in ("license_key", "mch", "app_version"))
    return StoredStop(code, detail, extras, *refused)


def _read_time(value: object) -> StoredTime:
    members = as_object(value) or {}
    # As in `_read_license`, null is valid and a missing member is not.
    highest_seen, ahead = members.get("highest_seen", 0), as_number(members.get("clock_ahead_seconds"))
    if ahead is None or not -_INFINITY < ahead < _INFINITY or (highest_seen is not None and _time(highest_seen) is None):
        return StoredTime()
    return StoredTime(_time(highest_seen), ahead)


def _read_sequences(members: JsonObject) -> Dict[str, SeenSequence]:
    read: Dict[str, SeenSequence] = {}
    for key, value in members.items():
        seen = as_object(value) or {}
        sequence, digest = safe_integer(seen.get("sequence")), _text(seen.get("digest"))
        if sequence is not None and digest is not None:
            read[key] = SeenSequence(sequence, digest)
    return read


def _text(value: object) -> Optional[str]:
    return value if isinstance(value, str) else None


def _time(value: object) -> Optional[str]:
    return _text(value) if parse_time(value) is not None else None
