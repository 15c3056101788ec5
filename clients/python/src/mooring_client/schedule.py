"""The times of the calls (docs/clients.md#the-timers), as pure functions.

`random` is from 0 to below 1, results are milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional, Union

_SECOND = 1000.0
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE

START_AGAIN_MS = 30 * _SECOND
"""Delay until a state file that could not be read, such as a locked one, is read again; it may contain a license."""
ACTIVATION_REPEAT_DURATION_MS = 10 * _MINUTE
"""How long an activation that the machine limit refused is repeated."""
ACTIVATION_REPEAT_INTERVAL_MS = 5 * _SECOND
"""The interval at which it is repeated."""
ACTIVATION_REPEAT_RETRY_MS = _MINUTE
"""The interval while the service asks to retry later."""

_DEFAULT_HEARTBEAT_SECONDS = 21_600.0
# 2 ** 16 times the first delay is above every limit; a higher power could exceed a float.
_MAX_DOUBLINGS = 16


@dataclass(frozen=True)
class Confirmed:
    """A call was confirmed, and the service asked for this interval."""

    heartbeat_after_seconds: Optional[float]


@dataclass(frozen=True)
class Unconfirmed:
    """A call was not confirmed."""

    retry_after_seconds: Optional[float]


@dataclass(frozen=True)
class NotCalled:
    """There was no call."""


CallEnd = Union[Confirmed, Unconfirmed, NotCalled]
"""The result of a call, which decides when the next one is sent."""


def after_call_ms(end: CallEnd, is_waiting_for_network: bool, failures: int, random: float) -> float:
    """Delay until the next heartbeat.

    `is_waiting_for_network` says whether the status is `needs_network`; `failures` counts the consecutive calls that were not
    confirmed.
    """
    if isinstance(end, NotCalled):
        return first_heartbeat_ms(random)
    if isinstance(end, Confirmed):
        return next_heartbeat_ms(end.heartbeat_after_seconds, random)
    retry = retry_for_network_ms if is_waiting_for_network else retry_heartbeat_ms
    return retry(failures, end.retry_after_seconds, random)


def first_heartbeat_ms(random: float) -> float:
    """Delay from the start to the first heartbeat. It is so long that an application in a crash loop sends nothing."""
    return _between(2.5 * _MINUTE, 8 * _MINUTE, random)


def next_heartbeat_ms(heartbeat_after_seconds: Optional[float], random: float) -> float:
    """Delay after a confirmation: the interval that the service asked for, limited, then ±5 %."""
    requested = _DEFAULT_HEARTBEAT_SECONDS if heartbeat_after_seconds is None else heartbeat_after_seconds
    seconds = requested if math.isfinite(requested) else _DEFAULT_HEARTBEAT_SECONDS
    return _clamp(seconds * _SECOND, 5.5 * _HOUR, 12 * _HOUR) * _between(0.95, 1.05, random)


def retry_heartbeat_ms(failures: int, retry_after_seconds: Optional[float], random: float) -> float:
    """Delay after a heartbeat without a confirmation, while the application runs."""
    if retry_after_seconds is None:
        return _between(5.4 * _HOUR, 6.6 * _HOUR, random)
    least = min(_doubled(_MINUTE, failures), _HOUR)
    return _clamp(retry_after_seconds * _SECOND, least, 6 * _HOUR) * _between(1, 1.1, random)


def retry_for_network_ms(failures: int, retry_after_seconds: Optional[float], random: float) -> float:
    """Delay after a failure while the status is `needs_network`."""
    least = min(_doubled(30 * _SECOND, failures), 15 * _MINUTE)
    return _clamp((retry_after_seconds or 0) * _SECOND, least, 6 * _HOUR) * _between(1, 1.25, random)


def first_manifest_ms(random: float) -> float:
    """Delay from the start to the first read of the manifest, independent of the first heartbeat: the two cannot be linked."""
    return _between(2.5 * _MINUTE, 20 * _MINUTE, random)


def next_manifest_ms(random: float) -> float:
    """Delay until the next read of the manifest: a day, ±1 hour."""
    return _between(23 * _HOUR, 25 * _HOUR, random)


def _doubled(first: float, failures: int) -> float:
    # The first failure has the first delay; each further one doubles it.
    return first * 2.0 ** min(max(0, failures - 1), _MAX_DOUBLINGS)


def _between(low: float, high: float, random: float) -> float:
    return low + (high - low) * random


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
